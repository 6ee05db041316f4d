#include "capture/log/node_room.h"

#include <algorithm>

#include "capture/log/chunk_memory.h"

namespace heaptap::log {

void NodeRoom::look(ChunkLender& lender) {
  const uint32_t count = std::min(log_.node_count.load(std::memory_order_relaxed), usable_);
  make_ahead(count);
  grow(count, lender);
}

// As many as there are, in steps.
void NodeRoom::make_ahead(uint32_t count) {
  constexpr uint32_t kMaxAhead = 256u << 10;  // 2 MiB
  constexpr uint32_t kStep = 512;
  const uint32_t wanted = std::min(usable_, count + std::min(count, kMaxAhead));
  if (wanted < made_ + kStep) return;
  (void)make_pages(&nodes_[made_], (wanted - made_) * sizeof(wire::StackNode));  // else their first user touches them
  made_ = wanted;
}

void NodeRoom::grow(uint32_t count, ChunkLender& lender) {
  if (count < usable_ / 2 || usable_ >= nodes_.size()) return;
  constexpr uint64_t kIndexBytes = 8;  // of the program's memory, for each
  const auto more = static_cast<uint32_t>(std::min<uint64_t>(usable_, nodes_.size() - usable_));
  if (!lender.permits(more * (sizeof(wire::StackNode) + kIndexBytes))) return;
  usable_ += more;
  log_.usable_nodes.store(usable_, std::memory_order_release);  // pairs with the writers' acquire
}

}  // namespace heaptap::log
