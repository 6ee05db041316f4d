// `heaptap top` on a terminal: keys, samples and pictures in a loop.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "live/recording.h"
#include "top/state.h"

namespace heaptap::top {

struct TopSettings {
  uint64_t delay_ns = 1'000'000'000;
  uint64_t count = 0;  // pictures or objects; 0: any number
  size_t rows = 0;     // 0: by default
  std::optional<Figure> sort = {};
  std::string filter = {};
  bool color = false;
  uint32_t pid = 0;    // the process that is shown first; 0: the first one
  uint32_t image = 0;  // the program of it; 0: the last one
  analysis::Query names_from = {};
};

// How it ended.
struct Ending {
  std::optional<int> signal = {};  // that asked for it
  std::string trouble = {};        // that was shown last, where nothing else ever was
};

// Whether this terminal can show a screen; where not, one picture as text has to do.
bool can_have_screen();

base::Result<Ending> run_on_screen(std::unique_ptr<live::Recording> recording, const TopSettings& settings);

}  // namespace heaptap::top
