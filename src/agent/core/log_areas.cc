#include "agent/core/log_areas.h"

#include "agent/core/kernel.h"
#include "agent/core/session.h"

namespace heaptap::agent {
namespace {

constexpr uint32_t kWindow = 16;  // entries that a stack may stand in, from the one that its address says

// The nth entry that this stack may stand in.
wire::StackAreaEntry& entry_for(uint64_t begin, uint32_t nth) {
  const wire::LogLayout& layout = g_session.layout.log;
  auto* entries =
      reinterpret_cast<wire::StackAreaEntry*>(reinterpret_cast<uint8_t*>(g_session.log) + layout.stack_areas_offset);
  const auto hash = static_cast<uint32_t>((begin >> 4) * 0x9e3779b97f4a7c15 >> 40);
  return entries[(hash + nth) & (layout.stack_area_capacity - 1)];
}

// False: another writer is at it, maybe the one that this thread interrupted.
bool write(wire::StackAreaEntry& entry, const wire::StackArea& area) {
  uint64_t version = entry.version.load(std::memory_order_relaxed);
  if ((version & 1) != 0 || !entry.version.compare_exchange_strong(version, version + 1, std::memory_order_acq_rel)) {
    return false;
  }
  entry.area = area;
  entry.version.store(version + 2, std::memory_order_release);  // pairs with the collector's acquire
  return true;
}

bool write_where_begin_is(uint64_t wanted, uint64_t begin, const wire::StackArea& area) {
  for (uint32_t nth = 0; nth < kWindow; ++nth) {
    wire::StackAreaEntry& entry = entry_for(begin, nth);
    if (entry.area.begin == wanted && write(entry, area)) return true;
  }
  return false;
}

wire::OwnArea* own_areas() {
  return reinterpret_cast<wire::OwnArea*>(reinterpret_cast<uint8_t*>(g_session.log) +
                                          g_session.layout.log.own_areas_offset);
}

bool is_recording_now() { return g_session_page.state.load(std::memory_order_relaxed) == SessionState::kRecording; }

}  // namespace

void note_stack(const wire::StackArea& area) {
  if (!is_recording_now() || area.begin == 0) return;
  if (write_where_begin_is(area.begin, area.begin, area) || write_where_begin_is(0, area.begin, area)) return;
  // Which of the others is in use isn't known: the newest is the likeliest.
  const uint32_t lost = g_session.log->stack_area_overflow.fetch_add(1, std::memory_order_relaxed);
  write(entry_for(area.begin, lost % kWindow), area);
}

void forget_stack(uint64_t begin) {
  if (is_recording_now() && begin != 0) write_where_begin_is(begin, begin, {});
}

void note_own_area(const void* start, size_t bytes) {
  wire::LogHeader* log = g_session.log;
  if (log == nullptr) return;
  const uint32_t capacity = g_session.layout.log.own_area_capacity;
  const uint32_t index = log->own_area_count.load(std::memory_order_relaxed) < capacity
                             ? log->own_area_count.fetch_add(1, std::memory_order_relaxed)
                             : UINT32_MAX;
  if (index >= capacity) {
    log->own_area_overflow.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  wire::OwnArea& area = own_areas()[index];
  const auto begin = reinterpret_cast<uintptr_t>(start);
  area.end.store(begin + bytes, std::memory_order_relaxed);
  area.begin.store(begin, std::memory_order_release);  // pairs with the collector's acquire
}

void forget_own_area(const void* start) {
  if (g_session.log == nullptr) return;
  const auto begin = reinterpret_cast<uintptr_t>(start);
  const uint32_t used = g_session.log->own_area_count.load(std::memory_order_relaxed);
  const uint32_t capacity = g_session.layout.log.own_area_capacity;
  for (uint32_t index = used < capacity ? used : capacity; index-- > 0;) {
    uint64_t seen = begin;
    if (own_areas()[index].begin.compare_exchange_strong(seen, 0, std::memory_order_relaxed)) return;
  }
}

OwnRange first_own_area(uint64_t from, uint64_t end) {
  OwnRange first{end, end};
  const wire::LogHeader& log = *g_session.log;
  const uint32_t used = log.own_area_count.load(std::memory_order_relaxed);
  for (uint32_t index = 0; index < used && index < g_session.layout.log.own_area_capacity; ++index) {
    const uint64_t begin = own_areas()[index].begin.load(std::memory_order_acquire);
    const uint64_t area_end = own_areas()[index].end.load(std::memory_order_relaxed);
    if (begin != 0 && area_end > from && begin < first.begin) first = {begin, area_end};
  }
  return first;
}

void inherit_own_areas(const wire::LogHeader& before, const wire::LogLayout& layout) {
  const auto* areas =
      reinterpret_cast<const wire::OwnArea*>(reinterpret_cast<const uint8_t*>(&before) + layout.own_areas_offset);
  const uint32_t used = before.own_area_count.load(std::memory_order_relaxed);
  for (uint32_t index = 0; index < used && index < layout.own_area_capacity; ++index) {
    const uint64_t begin = areas[index].begin.load(std::memory_order_acquire);
    const uint64_t end = areas[index].end.load(std::memory_order_relaxed);
    if (begin != 0) note_own_area(reinterpret_cast<const void*>(begin), end - begin);
  }
}

}  // namespace heaptap::agent
