// Memory over time, in at most kMaxBins intervals of equal width. The width doubles when they don't suffice, so a trace of any
// length fits; the peak within an interval stays exact.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace heaptap::ledger {

// State at the end of an interval; allocations and releases count from the beginning of the trace.
struct TimelineState {
  uint64_t live_bytes = 0;
  uint64_t live_blocks = 0;
  uint64_t mapped_bytes = 0;
  uint64_t mapped_memory_bytes = 0;  // see MappedLevels
  uint64_t allocations = 0;
  uint64_t releases = 0;
};

struct TimelineBin {
  TimelineState at_end;
  uint64_t peak_live_bytes = 0;  // within the interval
};

class Timeline {
 public:
  static constexpr size_t kMaxBins = 1024;

  Timeline(uint64_t start_ns, uint64_t resolution_ns);

  // Records live bytes that have grown.
  void see(uint64_t live_bytes) {
    if (live_bytes > open_peak_) {
      open_peak_ = live_bytes;
    }
  }

  // Advances time to `now_ns`; `state` held until then.
  void advance(uint64_t now_ns, const TimelineState& state) {
    if (now_ns >= open_end_ns_) [[unlikely]] {
      close_bins(now_ns, state);
    }
  }

  // Undoes a release at `since_ns`: the block was live in all intervals that have ended since.
  void restore(uint64_t since_ns, uint64_t size_bytes);

  // All bins, the open one included. Bin n ends at start_ns() + (n + 1) * width_ns().
  [[nodiscard]] std::vector<TimelineBin> bins(const TimelineState& state) const;
  [[nodiscard]] uint64_t start_ns() const { return start_ns_; }
  [[nodiscard]] uint64_t width_ns() const { return width_ns_; }

 private:
  void close_bins(uint64_t now_ns, const TimelineState& state);
  void double_width();

  uint64_t start_ns_;
  uint64_t width_ns_;
  uint64_t open_end_ns_;
  uint64_t open_peak_ = 0;
  std::vector<TimelineBin> closed_;
};

}  // namespace heaptap::ledger
