// Names of the programs of remote recordings, as their recorders know them. All recorders are asked at the same time: one
// that is stopped takes no time from the others.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/unique_fd.h"

namespace heaptap::client {

struct NameQuestion {
  uint32_t pid = 0;           // of a recorded process
  base::UniqueFd connection;  // to its recorder, which is trusted
};

// One for each question. None: no answer in time; empty: answered, but the program is unknown.
std::vector<std::optional<std::string>> ask_for_names(std::span<const NameQuestion> questions,
                                                      std::chrono::milliseconds wait_budget);

}  // namespace heaptap::client
