// Replay of the blocks of a report's stacks, as events, for formats made of events. Memory: proportional to the live blocks.
#pragma once
#include <cstddef>
#include <cstdint>

#include "views/exports/formats.h"

namespace heaptap::exports {

struct LiveBlock {
  size_t stack = 0;  // index into Report::stacks
  uint64_t size_bytes = 0;
  uint64_t allocated_at_ns = 0;
};

class BlockEvents {
 public:
  BlockEvents() = default;
  BlockEvents(const BlockEvents&) = delete;
  BlockEvents& operator=(const BlockEvents&) = delete;
  virtual ~BlockEvents() = default;

  // Times ascend. A realloc is a release and an allocation; a failed one is nothing.
  virtual void on_allocation(const LiveBlock& block) = 0;
  virtual void on_release(const LiveBlock& block, uint64_t time_ns) = 0;
  virtual void on_end_of_life(const LiveBlock& /*block*/) {}  // once for each block live at the end, in no order
};

// Fails for a trace of totals.
base::Result<> replay_blocks(const Input& input, BlockEvents& events);

}  // namespace heaptap::exports
