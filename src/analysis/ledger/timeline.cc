#include "analysis/ledger/timeline.h"

#include <algorithm>

namespace heaptap::ledger {

Timeline::Timeline(uint64_t start_ns, uint64_t resolution_ns)
    : start_ns_(start_ns), width_ns_(resolution_ns == 0 ? 1000 : resolution_ns), open_end_ns_(start_ns + width_ns_) {
  closed_.reserve(kMaxBins);
}

void Timeline::close_bins(uint64_t now_ns, const TimelineState& state) {
  while ((now_ns - start_ns_) / width_ns_ >= kMaxBins) {
    double_width();
  }
  const uint64_t open_bin = (now_ns - start_ns_) / width_ns_;
  while (closed_.size() < open_bin) {
    closed_.push_back({state, open_peak_});
    open_peak_ = state.live_bytes;
  }
  open_end_ns_ = start_ns_ + (open_bin + 1) * width_ns_;
}

// Merges pairs of bins. Without a partner, the last closed bin becomes a part of the open one.
void Timeline::double_width() {
  width_ns_ *= 2;
  const size_t pairs = closed_.size() / 2;
  if (closed_.size() % 2 != 0) {
    open_peak_ = std::max(open_peak_, closed_.back().peak_live_bytes);
  }
  for (size_t pair = 0; pair < pairs; ++pair) {
    const uint64_t first_peak = closed_[2 * pair].peak_live_bytes;
    closed_[pair] = closed_[2 * pair + 1];
    closed_[pair].peak_live_bytes = std::max(closed_[pair].peak_live_bytes, first_peak);
  }
  closed_.resize(pairs);
}

void Timeline::restore(uint64_t since_ns, uint64_t size_bytes) {
  for (size_t index = closed_.size(); index-- > 0;) {
    if (start_ns_ + (index + 1) * width_ns_ <= since_ns) {
      break;
    }
    TimelineBin& bin = closed_[index];
    bin.at_end.live_bytes += size_bytes;
    ++bin.at_end.live_blocks;
    --bin.at_end.releases;
    bin.peak_live_bytes = std::max(bin.peak_live_bytes, bin.at_end.live_bytes);
  }
}

std::vector<TimelineBin> Timeline::bins(const TimelineState& state) const {
  std::vector<TimelineBin> bins = closed_;
  bins.push_back({state, open_peak_});
  return bins;
}

}  // namespace heaptap::ledger
