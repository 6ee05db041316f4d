// Names given by the program to code that it generated at run time, which no file describes.
#pragma once
#include <string>

#include "common/model/event.h"

namespace heaptap::model {

struct CodeName {
  CodeId code = 0;
  std::string name;  // as the program wrote it
};

inline constexpr size_t kMaxCodeNameBytes = 1024;
// Limit for a trace: further names are dropped.
inline constexpr size_t kMaxCodeNamesBytes = size_t{64} << 20;

}  // namespace heaptap::model
