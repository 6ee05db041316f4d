// Function addresses for programs without symbols in their own file, supplied by another machine that has the file with symbols.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace heaptap::model {

struct ToldFunction {
  std::string name;
  uint64_t address = 0;   // link-time
  bool is_local = false;  // of local binding
  bool operator==(const ToldFunction&) const = default;
};

// By the program's build-id, as bytes. An empty list: that machine has none.
using ToldFunctions = std::map<std::string, std::vector<ToldFunction>>;

}  // namespace heaptap::model
