// Simulated target memory, backed by vectors.
#pragma once
#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <vector>

#include "capture/process/program_memory.h"

namespace heaptap::test {

class FakeMemory final : public process::ProgramMemory {
 public:
  FakeMemory() : ProgramMemory({}, sizeof(uint64_t)) {}

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

  size_t read_some(uint64_t address, void* to, size_t bytes) const override {
    size_t done = 0;
    while (done < bytes) {
      auto segment = segments_.upper_bound(address + done);
      if (segment == segments_.begin()) break;
      --segment;
      const uint64_t offset = address + done - segment->first;
      if (offset >= segment->second.size()) break;
      const size_t part = std::min<size_t>(bytes - done, segment->second.size() - offset);
      std::memcpy(static_cast<uint8_t*>(to) + done, segment->second.data() + offset, part);
      done += part;
    }
    return done;
  }

  std::vector<base::AddressRange> touched_ranges(uint64_t begin, uint64_t end) override {
    if (!touched_) return {{begin, end}};
    std::vector<base::AddressRange> found;
    for (const base::AddressRange& each : *touched_) {
      if (each.begin < end && each.end > begin) found.push_back(each);
    }
    return found;
  }

  [[nodiscard]] uint64_t skip_untouched(uint64_t begin, uint64_t /*end*/) const override { return begin; }

 private:
  std::map<uint64_t, std::vector<uint8_t>> segments_;
  std::optional<std::vector<base::AddressRange>> touched_;
};

}  // namespace heaptap::test
