// Writer of a log's trie of call stacks and code entries, with an index: each is written once.
#pragma once
#include <cstdint>

#include "common/base/number_table.h"
#include "common/wire/log.h"

namespace heaptap::log {

class StackTable {
 public:
  // `layout`: a checked copy of the header's.
  StackTable(wire::LogHeader& log, const wire::LogLayout& layout);

  // `parent` plus a frame: the code `entry` (wire::CodeEntry) called from it. The root kTableFull where there is no
  // room left.
  uint32_t intern(uint32_t parent, uint64_t entry);
  // The stack under a label (common/wire/labels.h); the stack itself where there is no room left.
  uint32_t with_label(uint32_t stack, uint32_t label);

 private:
  uint32_t add_node(uint64_t node);
  uint32_t code_index(uint64_t entry);

  wire::LogHeader& log_;
  const uint32_t code_capacity_;
  const uint32_t node_capacity_;
  wire::CodeEntry* codes_;
  wire::StackNode* nodes_;
  base::NumberTable known_codes_;
  base::NumberTable known_nodes_;
};

}  // namespace heaptap::log
