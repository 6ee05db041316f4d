// `heaptap top` on a terminal: the loop of keys, samples and pictures.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "common/base/result.h"
#include "views/client/recording.h"
#include "views/top/state.h"

namespace heaptap::top {

struct TopSettings {
  uint64_t delay_ns = 1'000'000'000;
  uint64_t count = 0;  // pictures or objects; 0: unlimited
  size_t rows = 0;     // 0: the default
  std::optional<Figure> sort = {};
  std::string filter = {};
  bool color = false;
  uint32_t pid = 0;    // the process shown first; 0: the first one
  uint32_t image = 0;  // its program; 0: the last one
  query::Query names_from = {};
};

// Result of a session.
struct Ending {
  std::optional<int> signal = {};  // terminating signal
  std::string trouble = {};        // last error, if nothing was ever shown
};

// Whether the terminal supports a screen; otherwise print one picture as text.
bool can_have_screen();

base::Result<Ending> run_on_screen(std::unique_ptr<client::Recording> recording, const TopSettings& settings);

}  // namespace heaptap::top
