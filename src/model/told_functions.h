// Where functions of a program are whose own file doesn't say it: as another machine tells it, which has that file with symbols.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace heaptap::model {

struct ToldFunction {
  std::string name;
  uint64_t address = 0;   // link-time
  bool is_local = false;  // its symbol is
  bool operator==(const ToldFunction&) const = default;
};

// By the program's build-id, as bytes. An empty list: that machine knows none.
using ToldFunctions = std::map<std::string, std::vector<ToldFunction>>;

}  // namespace heaptap::model
