// Trace of a part of a recording: the events of what was live at the part's beginning, then all of its events, with the numbers that
// blocks and moments have in it.
#pragma once
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "common/base/result.h"
#include "common/model/event.h"
#include "common/model/heap_scan.h"
#include "common/model/mark.h"
#include "common/model/tables.h"
#include "record/ring/earlier_part.h"
#include "record/trace/trace_writer.h"

namespace heaptap::ring {

// What has a place among the events.
struct Moments {
  std::span<const model::Mark> marks;
  const std::deque<model::HeapScan>& scans;
};

class KeptTrace {
 public:
  // `to` has begun. Events of the part begin behind all that `earlier` took.
  KeptTrace(trace::TraceWriter& to, const model::Tables& tables, const EarlierPart& earlier, const Moments& moments);

  // Adds the next events of the part. Their addresses are needed.
  base::Result<> add(const model::EventBatch& batch);
  // After the last one.
  base::Result<> end();

  // The number in this trace. kUnknownBlock: it isn't in it.
  [[nodiscard]] model::BlockNumber number_of(model::BlockNumber block) const;
  [[nodiscard]] uint64_t event_count() const { return event_count_; }

 private:
  base::Result<> add(const KeptEvent& each);
  base::Result<> take_moments(uint64_t place);
  base::Result<> write_batch();
  base::Result<> write_scan(model::HeapScan scan);

  trace::TraceWriter& to_;
  const model::Tables& tables_;
  const EarlierPart& earlier_;
  const Moments moments_;
  base::Result<> written_;
  bool has_begun_ = false;
  uint64_t place_ = 0;
  size_t mark_ = 0;
  size_t scan_ = 0;
  model::BlockNumber next_ = 1;
  model::BlockNumber first_of_part_ = 1;                                       // in the recording
  model::BlockNumber shift_to_ = 1;                                            // and in this trace
  boost::unordered_flat_map<model::BlockNumber, model::BlockNumber> numbers_;  // of blocks that are earlier
  model::EventBatch batch_;
  uint64_t event_count_ = 0;
};

}  // namespace heaptap::ring
