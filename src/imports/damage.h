// What is wrong with another tool's file, in words: what was read before it is told.
#pragma once
#include <string>

#include "imports/text_file.h"

namespace heaptap::imports {

enum class Fault {
  kNone,
  kTable,     // an entry of a table can't be understood, so that the numbers behind it mean nothing
  kTooLarge,  // more than any such file has
  kCut,       // it ends within what should go on
};

// Empty: the file is whole.
std::string damage_text(const TextFile& file, Fault fault);

}  // namespace heaptap::imports
