// Activity of allocations and mappings: counts by site, thread, size class and time interval, a table of facts in which every filter
// is a selection of rows. At most kMaxBins intervals of equal width; the width doubles when they don't suffice or there are too many rows, so memory
// depends on the number of distinct sites, not on the number of events.
#pragma once
#include <bit>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/model/event.h"

namespace heaptap::ledger {

struct ActivityCounts {
  uint64_t allocations = 0;
  uint64_t allocated_bytes = 0;
  uint64_t releases = 0;
  uint64_t released_bytes = 0;
  uint64_t temporary = 0;  // among the releases

  ActivityCounts& operator+=(const ActivityCounts& other) {
    allocations += other.allocations;
    allocated_bytes += other.allocated_bytes;
    releases += other.releases;
    released_bytes += other.released_bytes;
    temporary += other.temporary;
    return *this;
  }
  bool operator==(const ActivityCounts&) const = default;
};

// Key of an activity row. A release counts under its block's site, thread and size, a mapping's under its size when it was made.
struct ActivityKey {
  model::SiteId site = 0;
  model::ThreadId thread = 0;
  uint8_t size_class = 0;
  auto operator<=>(const ActivityKey&) const = default;
};

struct ActivityRow {
  uint32_t bin = 0;
  ActivityKey key;
  ActivityCounts counts;
};

// Class 0 has blocks of 0 bytes, class n those of 2^(n-1) to 2^n - 1.
inline constexpr size_t kSizeClasses = 65;
inline uint8_t size_class_of(uint64_t size_bytes) { return static_cast<uint8_t>(std::bit_width(size_bytes)); }
inline uint64_t lowest_of_class(size_t size_class) { return size_class == 0 ? 0 : uint64_t{1} << (size_class - 1); }
inline uint64_t highest_of_class(size_t size_class) {
  return size_class == 0 ? 0 : lowest_of_class(size_class) + (lowest_of_class(size_class) - 1);
}

class Activity {
 public:
  static constexpr size_t kMaxBins = 128;
  static constexpr size_t kMaxRows = size_t{1} << 21;  // beyond it only the open interval grows

  Activity(uint64_t start_ns, uint64_t resolution_ns);

  void allocated(const ActivityKey& key, uint64_t blocks, uint64_t bytes) {
    ActivityCounts& counts = open_[key];
    counts.allocations += blocks;
    counts.allocated_bytes += bytes;
  }
  void released(const ActivityKey& key, uint64_t blocks, uint64_t bytes, bool temporary) {
    ActivityCounts& counts = open_[key];
    counts.releases += blocks;
    counts.released_bytes += bytes;
    counts.temporary += temporary ? blocks : 0;
  }
  // Bytes of a mapping, without a call: pages whose access changed, or a part of it that was unmapped.
  void grew(const ActivityKey& key, uint64_t bytes) { open_[key].allocated_bytes += bytes; }
  void shrank(const ActivityKey& key, uint64_t bytes) { open_[key].released_bytes += bytes; }
  // Undoes a release at `released_at_ns`.
  void restored(const ActivityKey& key, uint64_t blocks, uint64_t bytes, bool temporary, uint64_t released_at_ns);

  void advance(uint64_t now_ns) {
    if (now_ns >= open_end_ns_) [[unlikely]] {
      close_bin(now_ns);
    }
  }

  // Ordered by bin, then by key. No row is empty.
  [[nodiscard]] std::vector<ActivityRow> rows() const;
  // Bin n ends at start_ns() + (n + 1) * width_ns().
  [[nodiscard]] uint64_t start_ns() const { return start_ns_; }
  [[nodiscard]] uint64_t width_ns() const { return width_ns_; }
  [[nodiscard]] uint32_t bin_count() const { return open_bin_ + 1; }
  [[nodiscard]] uint32_t bin_at(uint64_t time_ns) const {
    return time_ns < start_ns_ ? 0 : static_cast<uint32_t>((time_ns - start_ns_) / width_ns_);
  }

 private:
  struct KeyHash {
    size_t operator()(const ActivityKey& key) const {
      const uint64_t low = uint64_t{key.thread} << 8 | key.size_class;
      return static_cast<size_t>((uint64_t{key.site} * 0x9E3779B97F4A7C15 ^ low) * 0xD6E8FEB86659FD93);
    }
  };
  void close_bin(uint64_t now_ns);
  void double_width();

  uint64_t start_ns_;
  uint64_t width_ns_;
  uint64_t open_end_ns_;
  uint32_t open_bin_ = 0;
  boost::unordered_flat_map<ActivityKey, ActivityCounts, KeyHash> open_;
  std::vector<ActivityRow> closed_;  // in order of bins
};

}  // namespace heaptap::ledger
