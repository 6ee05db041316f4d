#include "capture/log/area_reader.h"

#include <algorithm>

#include "common/wire/stack_areas.h"

namespace heaptap::log {
namespace {

bool is_sound(const wire::StackArea& area) {
  return area.begin != 0 && area.begin < area.end &&
         (area.kind == wire::RootKind::kAlternateStack || area.kind == wire::RootKind::kContextStack);
}

}  // namespace

std::vector<wire::StackArea> read_stack_areas(const LogParts& log) {
  std::vector<wire::StackArea> areas;
  for (const wire::StackAreaEntry& entry : log.stack_areas) {
    wire::StackArea area;
    if (wire::read_entry(entry, area) && is_sound(area)) areas.push_back(area);
  }
  return areas;
}

std::vector<base::AddressRange> read_own_areas(const LogParts& log) {
  std::vector<base::AddressRange> areas;
  const size_t used = log.header.own_area_count.load(std::memory_order_relaxed);
  for (const wire::OwnArea& entry : log.own_areas.first(std::min(log.own_areas.size(), used))) {
    const uint64_t begin = entry.begin.load(std::memory_order_acquire);  // pairs with the agent's release
    const uint64_t end = entry.end.load(std::memory_order_relaxed);
    if (begin != 0 && begin < end) areas.push_back({begin, end});
  }
  std::ranges::sort(areas, {}, &base::AddressRange::begin);
  return areas;
}

}  // namespace heaptap::log
