#include "capture/stream/live_heap.h"

#include <algorithm>

#include "capture/stream/event_stream.h"
#include "common/wire/frame.h"

namespace heaptap::stream {
namespace {

constexpr uint64_t kMaxBytes = uint64_t{1} << 47;  // as recorded_by() has it

}  // namespace

void LiveBlocks::apply(const wire::RawEvent& event) {
  if (event.function() == 0 || event.function() >= wire::kFunctionCount) return;  // as the coder has it
  const uint64_t address = event.address();
  switch (event.kind()) {
    case wire::RecordKind::kAllocate: {
      Block& block = blocks_[address];
      // Already live: its release comes later, or was never seen.
      if (block.is_alive) owed_[address].push_back(event.time + kMaxDisorder);
      block = {.size_bytes = event.size_bytes, .is_alive = true};
      return;
    }
    case wire::RecordKind::kRelease: {
      const auto found = blocks_.find(address);
      const bool is_alive = found != blocks_.end() && found->second.is_alive;
      last_released_[event.thread] = is_alive ? address : 0;
      if (is_alive && !was_owed(event)) found->second.is_alive = false;
      return;
    }
    case wire::RecordKind::kUndo: {
      uint64_t& last = last_released_[event.thread];
      const auto found = blocks_.find(address);
      if (last == address && found != blocks_.end()) found->second.is_alive = true;
      last = 0;
      return;
    }
    case wire::RecordKind::kPoolAllocate:
      if (wire::facts_of(static_cast<wire::Function>(event.function())).family == wire::Family::kPool) {
        pooled_.add(address, event.size_bytes, 0);
      }
      return;
    case wire::RecordKind::kPoolRelease:
      return pooled_.remove(address, event.size_bytes);
    case wire::RecordKind::kPoolDestroy:
      return pooled_.remove_all(event.size_bytes);
    default:
      return;
  }
}

// The first block before that still waits for its release has it.
bool LiveBlocks::was_owed(const wire::RawEvent& release) {
  const auto owed = owed_.find(release.address());
  if (owed == owed_.end()) return false;
  std::erase_if(owed->second, [&release](uint64_t until) { return until < release.time; });
  const bool is_owed = !owed->second.empty();
  if (is_owed) owed->second.erase(owed->second.begin());
  if (owed->second.empty()) owed_.erase(owed);
  return is_owed;
}

std::vector<model::ScannedBlock> LiveBlocks::alive() const {
  const auto is_wanted = [](const auto& entry) {
    return entry.second.is_alive && entry.second.size_bytes <= kMaxBytes;
  };
  std::vector<model::ScannedBlock> alive;
  alive.reserve(static_cast<size_t>(std::ranges::count_if(blocks_, is_wanted)));  // and no memory beyond
  for (const auto& entry : blocks_) {
    if (is_wanted(entry)) alive.push_back({entry.first, entry.second.size_bytes, 0, 0, 0});
  }
  std::ranges::sort(alive, {}, &model::ScannedBlock::address);
  return alive;
}

std::vector<base::AddressRange> LiveBlocks::released() const {
  std::vector<base::AddressRange> ranges;
  for (const auto& [address, block] : blocks_) {
    if (!block.is_alive && block.size_bytes - 1 < kMaxBytes) ranges.push_back({address, address + block.size_bytes});
  }
  std::ranges::sort(ranges, {}, &base::AddressRange::begin);
  return ranges;
}

std::vector<model::ScannedBlock> LiveBlocks::pooled() const {
  return pooled_.in_order([](model::SiteId /*site*/) { return true; });
}

std::vector<model::ScannedBlock> LiveBlocks::pooled_to_tell() const {
  std::vector<model::ScannedBlock> blocks;
  pooled_.for_each([&](uint64_t address, uint64_t pooled_size, model::SiteId /*site*/) {
    blocks.push_back({address, pooled_size, 0, 0, 0});
  });
  std::ranges::sort(blocks, {}, &model::ScannedBlock::address);  // near ones are short
  return blocks;
}

void LiveBlocks::add_unsettled(const Unsettled& unsettled) {
  for (const auto& [address, until] : unsettled.owed) owed_[address].push_back(until);
  for (const auto& [thread, address, size_bytes] : unsettled.released) {
    last_released_[thread] = address;
    add_released(address, size_bytes);
  }
}

Unsettled LiveBlocks::unsettled() const {
  Unsettled unsettled;
  for (const auto& [address, times] : owed_) {
    for (const uint64_t until : times) unsettled.owed.push_back({address, until});
  }
  for (const auto& [thread, address] : last_released_) {
    const auto block = blocks_.find(address);
    if (block != blocks_.end()) unsettled.released.push_back({thread, address, block->second.size_bytes});
  }
  return unsettled;
}

uint32_t fingerprint(std::span<const model::ScannedBlock> blocks, std::span<const model::ScannedBlock> pooled) {
  uint32_t checksum = 0;
  for (const auto part : {blocks, pooled}) {
    for (const model::ScannedBlock& block : part) {
      uint8_t bytes[16];
      wire::put_u64(bytes, block.address);
      wire::put_u64(bytes + 8, block.size_bytes);
      checksum = wire::crc32c(bytes, sizeof(bytes), checksum);
    }
  }
  return checksum;
}

}  // namespace heaptap::stream
