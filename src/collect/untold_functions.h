// Which functions of a program another machine has to tell (model/told_functions.h): those that are watched, of a static program
// without symbols.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace heaptap::collect {

struct UntoldFunctions {
  std::string build_id;            // as bytes
  std::vector<std::string> names;  // of their symbols
};

// Of the program in this file. None: its file or its loader's libraries tell themselves, or nobody could know which program it is.
std::optional<UntoldFunctions> find_untold_functions(int file);

}  // namespace heaptap::collect
