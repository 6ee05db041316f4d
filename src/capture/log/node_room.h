// Room for call stacks in a log: more nodes become usable while there is memory for them, so that no stack is cut. They are never
// given back. Their pages are allocated ahead of use, since the one that touches a page first pays for it (ChunkMemory).
#pragma once
#include <cstdint>
#include <span>

#include "capture/log/chunk_lender.h"
#include "capture/log/log_parts.h"
#include "common/wire/log.h"

namespace heaptap::log {

class NodeRoom {
 public:
  explicit NodeRoom(const LogParts& log) : log_(log.header), nodes_(log.nodes), usable_(log.start_nodes) {}

  // To be called several times a second, and when the agent rings.
  void look(ChunkLender& lender);

  // This side's own copy.
  [[nodiscard]] uint32_t usable() const { return usable_; }

 private:
  void make_ahead(uint32_t count);
  void grow(uint32_t count, ChunkLender& lender);

  wire::LogHeader& log_;
  std::span<const wire::StackNode> nodes_;
  uint32_t usable_;
  uint32_t made_ = 0;
};

}  // namespace heaptap::log
