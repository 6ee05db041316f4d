// Damage of another tool's file, as a message. What was read before the damage is still reported.
#pragma once
#include <string>

#include "analysis/imports/text_file.h"

namespace heaptap::imports {

enum class Fault {
  kNone,
  kTable,     // invalid table entry: the numbers that refer to it are meaningless
  kTooLarge,  // more than any real file has
  kCut,       // the file ends where more must follow
};

// Empty if the file is complete.
std::string damage_text(const TextFile& file, Fault fault);

}  // namespace heaptap::imports
