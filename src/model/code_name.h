// What the program calls code that it made itself, at run time, and that no file describes.
#pragma once
#include <string>

#include "model/event.h"

namespace heaptap::model {

struct CodeName {
  CodeId code = 0;
  std::string name;  // as the program wrote it
};

inline constexpr size_t kMaxCodeNameBytes = 1024;
// Of all that a trace has: what comes behind them is left out.
inline constexpr size_t kMaxCodeNamesBytes = size_t{64} << 20;

}  // namespace heaptap::model
