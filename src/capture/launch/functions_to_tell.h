// Functions to request from another machine (common/model/told_functions.h): the watched functions of a static program without
// symbols.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace heaptap::launch {

struct FunctionsToTell {
  std::string build_id;            // as bytes
  std::vector<std::string> names;  // of their symbols
};

// For the program in this file. None: its file or its loader's libraries have the symbols, or it can't be identified.
std::optional<FunctionsToTell> find_functions_to_tell(int file);

}  // namespace heaptap::launch
