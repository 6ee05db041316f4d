#include "log/log_streams.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

namespace heaptap::log {
namespace {

constexpr uint32_t state_word(wire::StreamState state) { return static_cast<uint32_t>(state); }

void wait_for_change(std::atomic<uint32_t>& word, uint32_t seen, uint32_t wait_ms) {
  const timespec limit{wait_ms / 1000, static_cast<long>(wait_ms % 1000) * 1'000'000};
  syscall(SYS_futex, &word, FUTEX_WAIT, seen, &limit, nullptr, 0);
}

}  // namespace

LogStreams::LogStreams(wire::LogHeader& log)
    : log_(log),
      clock_(log),
      slot_count_(log.slot_count),
      chunk_count_(log.chunk_count),
      writers_wait_(log.overflow_policy == wire::OverflowPolicy::kWait),
      most_idle_ms_(log.overflow_wait_ms),
      slots_(reinterpret_cast<wire::StreamSlot*>(reinterpret_cast<uint8_t*>(&log) + log.slots_offset)),
      chunks_(reinterpret_cast<uint8_t*>(&log) + log.chunks_offset) {}

LogStream* LogStreams::open(uint32_t kernel_thread_id) {
  auto* slot = claim<wire::StreamSlot*>(nullptr, [this] { return pop_slot(); });
  if (slot == nullptr) return nullptr;
  const uint32_t chunk = claim_chunk();
  if (chunk == wire::kNoChunk) {
    slot->state.store(state_word(wire::StreamState::kFree), std::memory_order_release);
    return nullptr;
  }
  if (unused_.empty()) {
    streams_.push_back(std::make_unique<LogStream>());
    unused_.push_back(streams_.back().get());
  }
  LogStream* stream = unused_.back();
  unused_.pop_back();
  stream->slot = slot;
  begin_chunk(*stream, chunk);
  slot->thread_id = kernel_thread_id;
  slot->thread_number = log_.thread_count.fetch_add(1, std::memory_order_relaxed) + 1;
  slot->first_chunk = chunk;
  slot->lost_events.store(0, std::memory_order_relaxed);
  slot->started_at.store(stream->base_time, std::memory_order_relaxed);
  slot->state.store(state_word(wire::StreamState::kActive), std::memory_order_release);  // pairs with the collector
  return stream;
}

void LogStreams::end(LogStream* stream) {
  wire::end_activity(*stream->slot);
  stream->slot->state.store(state_word(wire::StreamState::kEnded), std::memory_order_release);
  *stream = LogStream();
  unused_.push_back(stream);
}

bool LogStreams::reserve(LogStream& stream, size_t bytes) {
  if (static_cast<size_t>(stream.end - stream.cursor) >= bytes) [[likely]]
    return true;
  const uint32_t index = claim_chunk();
  if (index == wire::kNoChunk) return false;
  wire::ChunkHeader* before = stream.chunk;
  begin_chunk(stream, index);
  before->next.store(index + 1, std::memory_order_release);  // pairs with the collector's acquire
  return true;
}

wire::StreamSlot* LogStreams::pop_slot() {
  const uint32_t start = log_.free_slot_hint.load(std::memory_order_relaxed) % slot_count_;
  for (uint32_t i = 0; i < slot_count_; ++i) {
    const uint32_t index = start + i < slot_count_ ? start + i : start + i - slot_count_;
    wire::StreamSlot& slot = slots_[index];
    if (slot.state.load(std::memory_order_acquire) != state_word(wire::StreamState::kFree)) continue;
    slot.state.store(state_word(wire::StreamState::kClaimed), std::memory_order_relaxed);
    log_.free_slot_hint.store(index + 1, std::memory_order_relaxed);
    if (log_.slots_used.load(std::memory_order_relaxed) <= index) {
      log_.slots_used.store(index + 1, std::memory_order_release);
    }
    return &slot;
  }
  return nullptr;
}

// A free chunk's index, or kNoChunk. Only the collector puts chunks back meanwhile.
uint32_t LogStreams::pop_chunk() {
  uint64_t head = log_.free_chunks.load(std::memory_order_acquire);
  while (static_cast<uint32_t>(head) < chunk_count_) {
    const auto index = static_cast<uint32_t>(head);
    const auto* chunk = reinterpret_cast<const wire::ChunkHeader*>(chunks_ + uint64_t{index} * wire::kChunkBytes);
    const uint64_t next = chunk->free_link.load(std::memory_order_relaxed) | ((head >> 32) + 1) << 32;
    if (log_.free_chunks.compare_exchange_weak(head, next, std::memory_order_acq_rel)) return index;
  }
  const uint32_t fresh = log_.fresh_chunks.load(std::memory_order_relaxed);
  const uint32_t usable = std::min(log_.usable_chunks.load(std::memory_order_acquire), chunk_count_);
  if (fresh >= usable) return wire::kNoChunk;
  log_.fresh_chunks.store(fresh + 1, std::memory_order_relaxed);
  return fresh;
}

// What `attempt` gives, tried again until it isn't `nothing`, as long as the user chose to wait.
template <typename T, typename Attempt>
T LogStreams::claim(T nothing, const Attempt& attempt) {
  constexpr uint32_t kSliceMs = 10;
  T claimed = attempt();
  if (claimed != nothing || !writers_wait_) return claimed;
  uint32_t returned = log_.chunks_returned.load(std::memory_order_acquire);
  if (gave_up_at_ == returned) return claimed;
  // As long as the collector gives something back, however little.
  for (uint32_t idle_ms = 0; claimed == nothing && idle_ms < most_idle_ms_;) {
    wait_for_change(log_.chunks_returned, returned, kSliceMs);
    const uint32_t now = log_.chunks_returned.load(std::memory_order_acquire);
    idle_ms = now == returned ? idle_ms + kSliceMs : 0;
    returned = now;
    claimed = attempt();
  }
  if (claimed == nothing) {
    gave_up_at_ = returned;
    log_.waits_in_vain.fetch_add(1, std::memory_order_relaxed);
  }
  return claimed;
}

uint32_t LogStreams::claim_chunk() {
  const uint32_t index = claim(wire::kNoChunk, [this] { return pop_chunk(); });
  if (index != wire::kNoChunk) log_.used_chunks.fetch_add(1, std::memory_order_relaxed);
  return index;
}

void LogStreams::begin_chunk(LogStream& stream, uint32_t index) {
  auto* chunk = reinterpret_cast<wire::ChunkHeader*>(chunks_ + uint64_t{index} * wire::kChunkBytes);
  chunk->next.store(0, std::memory_order_relaxed);
  stream.base_time = chunk->base_time = clock_.event_time();
  chunk->committed.store(sizeof(wire::ChunkHeader), std::memory_order_release);
  stream.chunk = chunk;
  stream.cursor = reinterpret_cast<uint8_t*>(chunk + 1);
  stream.end = reinterpret_cast<uint8_t*>(chunk) + wire::kChunkBytes;
}

}  // namespace heaptap::log
