// Versions of documents that have call stacks: docs/json.md.
#pragma once
#include <cstdint>

namespace heaptap::json {

enum class Version : uint8_t {
  kLists = 2,  // a stack is a list of its frames; a comparison's number is 1
  kNodes = 3,  // a stack is a node of a table
};

}  // namespace heaptap::json
