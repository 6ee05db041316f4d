// Options of pushing profiles to a server while recording.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "apps/heaptap/options/option_set.h"
#include "views/push/destination.h"
#include "views/push/labels.h"

namespace heaptap::app {

struct PushOptions {
  std::optional<push::Destination> to;  // empty: nothing is pushed
  uint64_t every_ns = uint64_t{15} * 1'000'000'000;
  push::Labels labels;
  std::string token_file;       // empty: $HEAPTAP_PUSH_TOKEN, if it is set
  bool token_in_clear = false;  // send it without encryption, too
  std::string ca_file;
};

void add_push(OptionSet& set, PushOptions& options);
// After parsing.
base::Result<> check_push(const PushOptions& options);

}  // namespace heaptap::app
