// What became of the blocks of a report's stacks, one event after the other, for formats that are made of events. Memory: the
// blocks that are alive.
#pragma once
#include <cstddef>
#include <cstdint>

#include "exports/formats.h"

namespace heaptap::exports {

struct LiveBlock {
  size_t stack = 0;  // place in Report::stacks
  uint64_t size_bytes = 0;
  uint64_t allocated_at_ns = 0;
};

class BlockEvents {
 public:
  BlockEvents() = default;
  BlockEvents(const BlockEvents&) = delete;
  BlockEvents& operator=(const BlockEvents&) = delete;
  virtual ~BlockEvents() = default;

  // Times ascend. A realloc is a release and an allocation; one that failed is nothing.
  virtual void on_allocation(const LiveBlock& block) = 0;
  virtual void on_release(const LiveBlock& block, uint64_t time_ns) = 0;
  virtual void on_end_of_life(const LiveBlock& /*block*/) {}  // once for each that is alive at the end, in no order
};

// Fails for a trace of totals.
base::Result<> replay_blocks(const Input& input, BlockEvents& events);

}  // namespace heaptap::exports
