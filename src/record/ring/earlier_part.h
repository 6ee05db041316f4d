// Rest of events that are no longer kept: those of all that was live behind them, in their order, and how much the others were.
#pragma once
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "common/model/event.h"
#include "common/model/tables.h"

namespace heaptap::ring {

struct KeptEvent {
  uint64_t place = 0;  // number of events of the recording before it
  uint64_t time_ns = 0;
  model::Event event{};
  model::EventKind kind{};
  model::BlockNumber number = 0;              // of an allocation
  std::optional<model::BadRelease> bad = {};  // of a release of no live block
};

// Calls take(each) for the batch's events; the first one has that place. Batches begin with a time.
template <typename Take>
void for_each_event(const model::EventBatch& batch, const model::Tables& tables, uint64_t first_place, Take take) {
  model::BlockNumber next = batch.first_block;
  uint64_t time_ns = 0;
  size_t mark = 0;
  size_t bad = 0;
  for (size_t i = 0; i < batch.events.size(); ++i) {
    while (mark < batch.time_marks.size() && batch.time_marks[mark].first_event <= i) {
      time_ns = batch.time_marks[mark++].time_ns;
    }
    KeptEvent each{.place = first_place + i, .time_ns = time_ns, .event = batch.events[i]};
    each.kind = tables.sites[each.event.site].kind;
    if (each.kind == model::EventKind::kAllocate) each.number = next++;
    if (bad < batch.bad_releases.size() && batch.bad_releases[bad].event == i) each.bad = batch.bad_releases[bad++];
    take(each);
  }
}

class EarlierPart {
 public:
  // Takes the next events. Their addresses are needed.
  void take(const model::EventBatch& batch, const model::Tables& tables);

  // Number of events taken, and the time of the last one.
  [[nodiscard]] uint64_t event_count() const { return event_count_; }
  [[nodiscard]] uint64_t until_ns() const { return until_ns_; }
  // Allocations that aren't left, since they were released.
  [[nodiscard]] uint64_t gone_allocations() const { return gone_allocations_; }
  [[nodiscard]] uint64_t gone_bytes() const { return gone_bytes_; }
  // What is left: allocations of live blocks and their like, bad releases, and each thread's last release with its allocation, which
  // the thread's next event may undo.
  [[nodiscard]] std::vector<KeptEvent> left() const;

 private:
  struct Released {
    KeptEvent allocation;
    KeptEvent release;
  };
  using Placed = boost::unordered_flat_map<uint64_t, KeptEvent>;  // by address

  void take(const KeptEvent& each);
  void allocate(const KeptEvent& each) { live_.insert_or_assign(each.number, each); }
  void release(const KeptEvent& each);
  void undo(model::ThreadId thread);
  void unmap(const KeptEvent& each);

  boost::unordered_flat_map<model::BlockNumber, KeptEvent> live_;
  boost::unordered_flat_map<model::ThreadId, Released> last_released_;
  Placed mapped_;
  Placed protected_;
  std::vector<KeptEvent> unmapped_;                    // parts of mappings, or several
  boost::unordered_flat_map<uint32_t, Placed> pools_;  // by number
  std::deque<KeptEvent> bad_;
  uint64_t event_count_ = 0;
  uint64_t until_ns_ = 0;
  uint64_t gone_allocations_ = 0;
  uint64_t gone_bytes_ = 0;
};

}  // namespace heaptap::ring
