#include "agent/core/log_areas.h"

#include "agent/core/kernel.h"
#include "agent/core/own_address.h"
#include "agent/core/session.h"
#include "common/wire/stack_areas.h"

namespace heaptap::agent {
namespace {

wire::StackAreaTable stack_areas() { return {*g_session.log, g_session.layout.log}; }

wire::OwnArea* own_areas() {
  return reinterpret_cast<wire::OwnArea*>(reinterpret_cast<uint8_t*>(g_session.log) +
                                          g_session.layout.log.own_areas_offset);
}

bool is_recording_now() { return g_session_page.state.load(std::memory_order_relaxed) == SessionState::kRecording; }

}  // namespace

void note_stack(const wire::StackArea& area) {
  if (is_recording_now()) stack_areas().note(area);
}

void forget_stack(uint64_t begin) {
  if (is_recording_now()) stack_areas().forget(begin);
}

void note_own_area(const void* start, size_t bytes) {
  wire::LogHeader* log = g_session.log;
  if (log == nullptr) return;
  const uint32_t index = wire::claim_entry(log->own_area_count, g_session.layout.log.own_area_capacity);
  if (index == wire::kNoEntry) {
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
    if (begin != 0) note_own_area(reinterpret_cast<const void*>(own_address(begin)), own_address(end - begin));
  }
}

}  // namespace heaptap::agent
