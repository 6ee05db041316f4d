#include "record/ring/kept_trace.h"

#include <utility>

namespace heaptap::ring {
namespace {

constexpr size_t kBatchEvents = 4096;
constexpr size_t kFrameEvents = 262'144;

}  // namespace

KeptTrace::KeptTrace(trace::TraceWriter& to, const model::Tables& tables, const EarlierPart& earlier,
                     const Moments& moments)
    : to_(to), tables_(tables), earlier_(earlier), moments_(moments) {
  std::vector<model::Mark> before;
  for (; mark_ < moments_.marks.size() && moments_.marks[mark_].kind == model::MarkKind::kEarlier; ++mark_) {
    before.push_back(moments_.marks[mark_]);
  }
  to_.begin_behind(before);
  for (const KeptEvent& each : earlier_.left()) {
    if (written_) written_ = add(each);
  }
  place_ = earlier_.event_count();
  shift_to_ = next_;
}

base::Result<> KeptTrace::add(const model::EventBatch& batch) {
  HEAPTAP_TRY(written_);
  if (!std::exchange(has_begun_, true)) first_of_part_ = batch.first_block;
  for_each_event(batch, tables_, place_, [this](const KeptEvent& each) {
    if (written_) written_ = add(each);
  });
  place_ += batch.events.size();
  return written_;
}

base::Result<> KeptTrace::add(const KeptEvent& each) {
  HEAPTAP_TRY(take_moments(each.place));
  model::Event event = each.event;
  const bool is_release = each.kind == model::EventKind::kRelease;
  std::optional<model::BadRelease> bad = each.bad;
  if (is_release && event.block() != model::kUnknownBlock) {
    event.size_or_block = number_of(event.block());
    if (event.block() == model::kUnknownBlock) bad = model::BadRelease{};
  }
  const auto at = static_cast<uint32_t>(batch_.events.size());
  if (batch_.events.empty()) batch_.first_block = next_;
  if (batch_.time_marks.empty() || batch_.time_marks.back().time_ns != each.time_ns)
    batch_.time_marks.push_back({at, each.time_ns});
  if (bad) {
    batch_.bad_releases.push_back(*bad);
    batch_.bad_releases.back().event = at;
  }
  if (each.kind == model::EventKind::kAllocate) {
    if (!has_begun_) numbers_[each.number] = next_;
    ++next_;
  }
  batch_.events.push_back(event);
  ++event_count_;
  return batch_.events.size() < kBatchEvents ? base::Result<>{} : write_batch();
}

model::BlockNumber KeptTrace::number_of(model::BlockNumber block) const {
  const auto earlier = numbers_.find(block);
  if (earlier != numbers_.end()) return earlier->second;
  return has_begun_ && block >= first_of_part_ ? shift_to_ + (block - first_of_part_) : model::kUnknownBlock;
}

base::Result<> KeptTrace::take_moments(uint64_t place) {
  const auto is_due = [place](uint64_t events_before) { return events_before <= place; };
  while (mark_ < moments_.marks.size() && is_due(moments_.marks[mark_].events_before)) {
    HEAPTAP_TRY(write_batch());
    (void)to_.add_mark(moments_.marks[mark_++]);
  }
  while (scan_ < moments_.scans.size() && is_due(moments_.scans[scan_].events_before)) {
    HEAPTAP_TRY(write_batch());
    HEAPTAP_TRY(write_scan(moments_.scans[scan_++]));
  }
  return {};
}

base::Result<> KeptTrace::write_scan(model::HeapScan scan) {
  for (model::ScannedBlock& block : scan.blocks) {
    if (model::has_event(block.number)) block.number = number_of(block.number);
  }
  return to_.write_scan(scan, tables_);
}

base::Result<> KeptTrace::write_batch() {
  if (!batch_.events.empty()) to_.take(batch_, tables_);
  batch_.clear();
  return to_.events_pending() < kFrameEvents ? base::Result<>{} : to_.flush(tables_);
}

base::Result<> KeptTrace::end() {
  HEAPTAP_TRY(written_);
  HEAPTAP_TRY(take_moments(UINT64_MAX));
  return write_batch();
}

}  // namespace heaptap::ring
