#include "analysis/ledger/activity.h"

#include <algorithm>
#include <tuple>

namespace heaptap::ledger {
namespace {

bool is_before(const ActivityRow& a, const ActivityRow& b) { return std::tie(a.bin, a.key) < std::tie(b.bin, b.key); }

// Sorts, and merges rows with the same bin and key.
void unite(std::vector<ActivityRow>& rows) {
  std::ranges::sort(rows, is_before);
  size_t kept = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (kept != 0 && rows[kept - 1].bin == rows[i].bin && rows[kept - 1].key == rows[i].key)
      rows[kept - 1].counts += rows[i].counts;
    else
      rows[kept++] = rows[i];
  }
  rows.resize(kept);
}

}  // namespace

Activity::Activity(uint64_t start_ns, uint64_t resolution_ns)
    : start_ns_(start_ns), width_ns_(resolution_ns == 0 ? 1000 : resolution_ns), open_end_ns_(start_ns + width_ns_) {}

void Activity::close_bin(uint64_t now_ns) {
  for (const auto& [key, counts] : open_) closed_.push_back({open_bin_, key, counts});
  open_.clear();
  while ((now_ns - start_ns_) / width_ns_ >= kMaxBins) double_width();
  while (closed_.size() > kMaxRows && open_bin_ > 1) double_width();
  open_bin_ = bin_at(now_ns);
  open_end_ns_ = start_ns_ + (uint64_t{open_bin_} + 1) * width_ns_;
}

// The open bin is empty.
void Activity::double_width() {
  width_ns_ *= 2;
  open_bin_ /= 2;
  for (ActivityRow& row : closed_) row.bin /= 2;
  unite(closed_);
}

// Counts wrap around: the row may be negative until rows are merged.
void Activity::restored(const ActivityKey& key, uint64_t blocks, uint64_t bytes, bool temporary,
                        uint64_t released_at_ns) {
  ActivityCounts back;
  back.releases -= blocks;
  back.released_bytes -= bytes;
  back.temporary -= temporary ? blocks : 0;
  const uint32_t bin = bin_at(released_at_ns);
  if (bin >= open_bin_)
    open_[key] += back;
  else
    closed_.push_back({bin, key, back});
}

std::vector<ActivityRow> Activity::rows() const {
  std::vector<ActivityRow> rows = closed_;
  for (const auto& [key, counts] : open_) rows.push_back({open_bin_, key, counts});
  unite(rows);
  std::erase_if(rows, [](const ActivityRow& row) { return row.counts == ActivityCounts{}; });
  return rows;
}

}  // namespace heaptap::ledger
