// Simulated target memory, backed by vectors.
#pragma once
#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <vector>

#include "capture/scan/memory_reader.h"

namespace heaptap::test {

class FakeMemory : public scan::MemoryReader {
 public:
  void add(uint64_t address, size_t words) { segments_[address].assign(words * 8, 0); }

  void put(uint64_t address, uint64_t value) {
    auto segment = std::prev(segments_.upper_bound(address));
    std::memcpy(segment->second.data() + (address - segment->first), &value, sizeof value);
  }

  void put_short(uint64_t address, uint32_t value) {
    auto segment = std::prev(segments_.upper_bound(address));
    std::memcpy(segment->second.data() + (address - segment->first), &value, sizeof value);
  }

  [[nodiscard]] uint64_t get(uint64_t address) const {
    const auto segment = std::prev(segments_.upper_bound(address));
    uint64_t value = 0;
    std::memcpy(&value, segment->second.data() + (address - segment->first), sizeof value);
    return value;
  }

  // Marks these ranges as touched and all others as untouched; without it everything is touched.
  void touch_only(std::vector<base::AddressRange> ranges) { touched_ = std::move(ranges); }

  size_t read(uint64_t address, std::span<uint8_t> to) override {
    bytes_read_ += to.size();
    size_t done = 0;
    while (done < to.size()) {
      auto segment = segments_.upper_bound(address + done);
      if (segment == segments_.begin()) break;
      --segment;
      const uint64_t offset = address + done - segment->first;
      if (offset >= segment->second.size()) break;
      const size_t part = std::min<size_t>(to.size() - done, segment->second.size() - offset);
      std::memcpy(to.data() + done, segment->second.data() + offset, part);
      done += part;
    }
    return done;
  }

  std::vector<base::AddressRange> touched(base::AddressRange range) override {
    if (!touched_) return {range};
    std::vector<base::AddressRange> found;
    for (const base::AddressRange& each : *touched_) {
      if (each.begin < range.end && each.end > range.begin) found.push_back(each);
    }
    return found;
  }

  [[nodiscard]] uint64_t bytes_read() const { return bytes_read_; }

 private:
  std::map<uint64_t, std::vector<uint8_t>> segments_;
  std::optional<std::vector<base::AddressRange>> touched_;
  uint64_t bytes_read_ = 0;
};

}  // namespace heaptap::test
