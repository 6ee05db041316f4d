#include "target/area_reader.h"

#include <algorithm>
#include <cstring>

namespace heaptap::target {
namespace {

template <typename Entry>
const Entry* table_in(const wire::LogHeader& log, uint64_t offset, uint64_t& count) {
  const uint64_t total = log.total_bytes;
  if (offset > total) return nullptr;
  count = std::min<uint64_t>(count, (total - offset) / sizeof(Entry));
  return reinterpret_cast<const Entry*>(reinterpret_cast<const uint8_t*>(&log) + offset);
}

bool is_sound(const wire::StackArea& area) {
  return area.begin != 0 && area.begin < area.end &&
         (area.kind == wire::RootKind::kAlternateStack || area.kind == wire::RootKind::kContextStack);
}

}  // namespace

std::vector<wire::StackArea> read_stack_areas(const wire::LogHeader& log) {
  std::vector<wire::StackArea> areas;
  uint64_t count = log.stack_area_capacity;
  const auto* entries = table_in<wire::StackAreaEntry>(log, log.stack_areas_offset, count);
  for (uint64_t i = 0; entries != nullptr && i < count; ++i) {
    const uint64_t version = entries[i].version.load(std::memory_order_acquire);  // pairs with the agent's release
    if (version == 0 || (version & 1) != 0) continue;
    wire::StackArea area;
    std::memcpy(&area, &entries[i].area, sizeof(area));
    std::atomic_thread_fence(std::memory_order_acquire);
    if (entries[i].version.load(std::memory_order_relaxed) == version && is_sound(area)) areas.push_back(area);
  }
  return areas;
}

std::vector<AddressRange> read_own_areas(const wire::LogHeader& log) {
  std::vector<AddressRange> areas;
  uint64_t count = std::min(log.own_area_capacity, log.own_area_count.load(std::memory_order_relaxed));
  const auto* entries = table_in<wire::OwnArea>(log, log.own_areas_offset, count);
  for (uint64_t i = 0; entries != nullptr && i < count; ++i) {
    const uint64_t begin = entries[i].begin.load(std::memory_order_acquire);  // pairs with the agent's release
    const uint64_t end = entries[i].end.load(std::memory_order_relaxed);
    if (begin != 0 && begin < end) areas.push_back({begin, end});
  }
  std::ranges::sort(areas, {}, &AddressRange::begin);
  return areas;
}

}  // namespace heaptap::target
