#include "agent/inject/threads.h"

#include "agent/core/streams.h"

namespace heaptap::agent {

constinit ThreadEntry g_threads[kThreadEntries + 1]{};

static_assert(kThreadEntries == size_t{1} << 12, "as thread_hash() counts");

namespace {

// Who had the block before has ended.
void begin_thread(ThreadEntry& entry, uint32_t number) {
  end_streams(entry.anchor);
  entry.anchor = ThreadAnchor{};
  entry.last_release = {};
  entry.failed = 0;
  entry.is_within = 0;
  entry.number = number;
}

}  // namespace

__attribute__((noinline)) ThreadEntry* find_or_add_thread(uintptr_t block, uint32_t number) {
  constexpr size_t kMaxProbes = 64;
  const size_t first = thread_hash(block);
  for (size_t i = 0; i < kMaxProbes; ++i) {
    ThreadEntry& entry = g_threads[(first + i) % kThreadEntries];
    uintptr_t known = entry.block.load(std::memory_order_acquire);
    if (known == 0) entry.block.compare_exchange_strong(known, block, std::memory_order_acq_rel);
    if (known != 0 && known != block) continue;
    if (entry.number != number) begin_thread(entry, number);  // nobody else has this block
    return &entry;
  }
  return nullptr;
}

}  // namespace heaptap::agent
