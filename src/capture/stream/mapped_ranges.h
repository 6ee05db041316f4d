// Address ranges currently mapped by the program itself, while a trace is written.
#pragma once
#include <cstdint>
#include <iterator>
#include <map>

namespace heaptap::stream {

class MappedRanges {
 public:
  void add(uint64_t address, uint64_t length_bytes) {
    remove(address, length_bytes);
    if (length_bytes != 0 && address + length_bytes > address) ends_[address] = address + length_bytes;
  }

  // Removes the mapped parts of the range.
  void remove(uint64_t address, uint64_t length_bytes) {
    const uint64_t end = address + length_bytes;
    if (end <= address) return;
    auto at = ends_.lower_bound(address);
    if (at != ends_.begin() && std::prev(at)->second > address) --at;
    while (at != ends_.end() && at->first < end) {
      const auto [begin, old_end] = *at;
      at = ends_.erase(at);
      if (begin < address) ends_[begin] = address;
      if (old_end > end) at = ends_.emplace(end, old_end).first;
    }
  }

  [[nodiscard]] bool overlaps(uint64_t address, uint64_t length_bytes) const {
    const auto behind = ends_.lower_bound(address + length_bytes);
    return behind != ends_.begin() && std::prev(behind)->second > address;
  }

  // Calls visit(begin, end), ascending.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (const auto& [begin, end] : ends_) visit(begin, end);
  }

 private:
  std::map<uint64_t, uint64_t> ends_;  // by begin; they don't overlap
};

}  // namespace heaptap::stream
