#include "record/ring/earlier_part.h"

#include <algorithm>

#include "common/wire/labels.h"
#include "common/wire/mapping.h"

namespace heaptap::ring {
namespace {

constexpr size_t kMaxBad = size_t{1} << 16;
constexpr size_t kMaxUnmapped = size_t{1} << 20;

}  // namespace

void EarlierPart::take(const model::EventBatch& batch, const model::Tables& tables) {
  for_each_event(batch, tables, event_count_, [this](const KeptEvent& each) { take(each); });
  event_count_ += batch.events.size();
  if (!batch.time_marks.empty()) until_ns_ = batch.time_marks.back().time_ns;
}

void EarlierPart::take(const KeptEvent& each) {
  const uint64_t address = each.event.address;
  switch (each.kind) {
    case model::EventKind::kAllocate:
      return allocate(each);
    case model::EventKind::kRelease:
      return release(each);
    case model::EventKind::kUndo:
      return undo(each.event.thread);
    case model::EventKind::kMap:
      mapped_.insert_or_assign(address, each);
      return;
    case model::EventKind::kUnmap:
      return unmap(each);
    case model::EventKind::kProtect:
      protected_.insert_or_assign(address, each);
      return;
    case model::EventKind::kPoolAllocate:
      pools_[wire::pool_of(each.event.size_or_block)].insert_or_assign(address, each);
      return;
    case model::EventKind::kPoolRelease:
      if (const auto pool = pools_.find(wire::pool_of(each.event.size_or_block)); pool != pools_.end())
        pool->second.erase(address);
      return;
    case model::EventKind::kPoolDestroy:
      pools_.erase(wire::pool_of(each.event.size_or_block));
      return;
  }
}

void EarlierPart::release(const KeptEvent& each) {
  if (each.event.block() == model::kUnknownBlock) {
    bad_.push_back(each);
    if (bad_.size() > kMaxBad) bad_.pop_front();
    return;
  }
  const auto block = live_.find(each.event.block());
  if (block == live_.end()) return;
  if (const auto last = last_released_.find(each.event.thread); last != last_released_.end()) {
    ++gone_allocations_;
    gone_bytes_ += last->second.allocation.event.size_bytes();
  }
  last_released_.insert_or_assign(each.event.thread, Released{.allocation = block->second, .release = each});
  live_.erase(block);
}

void EarlierPart::undo(model::ThreadId thread) {
  const auto last = last_released_.find(thread);
  if (last == last_released_.end()) return;
  allocate(last->second.allocation);
  last_released_.erase(last);
}

// One that isn't exactly a mapping is kept as it is.
void EarlierPart::unmap(const KeptEvent& each) {
  const auto mapping = mapped_.find(each.event.address);
  if (mapping != mapped_.end() &&
      wire::mapped_length(mapping->second.event.size_or_block) == each.event.size_or_block) {
    mapped_.erase(mapping);
    protected_.erase(each.event.address);
  } else if (unmapped_.size() < kMaxUnmapped) {
    unmapped_.push_back(each);
  }
}

std::vector<KeptEvent> EarlierPart::left() const {
  std::vector<KeptEvent> events;
  const auto add = [&events](const auto& placed) {
    for (const auto& [key, each] : placed) events.push_back(each);
  };
  add(live_);
  add(mapped_);
  add(protected_);
  for (const auto& [number, pool] : pools_) add(pool);
  for (const auto& [thread, last] : last_released_) {
    events.push_back(last.allocation);
    events.push_back(last.release);
  }
  events.insert(events.end(), unmapped_.begin(), unmapped_.end());
  events.insert(events.end(), bad_.begin(), bad_.end());
  std::ranges::sort(events, {}, &KeptEvent::place);
  return events;
}

}  // namespace heaptap::ring
