// Simulated target memory: code and stack at arbitrary addresses.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

#include "common/arch/cpu.h"
#include "common/base/byte_source.h"

namespace heaptap::test {

class CodeMemory final : public arch::TargetMemory, public base::ByteSource {
 public:
  void put(uint64_t address, std::vector<uint8_t> bytes) { segments_[address] = std::move(bytes); }
  void put_word(uint64_t address, uint64_t value) {
    std::vector<uint8_t> bytes(sizeof(value));
    std::memcpy(bytes.data(), &value, sizeof(value));
    put(address, std::move(bytes));
  }
  void remove(uint64_t address) { segments_.erase(address); }

  bool read(uint64_t address, void* to, size_t bytes) override {
    const uint8_t* from = at(address, bytes);
    if (from == nullptr) return false;
    std::memcpy(to, from, bytes);
    return true;
  }
  size_t read_some(uint64_t address, void* to, size_t bytes) const override {
    auto segment = segments_.upper_bound(address);
    if (segment == segments_.begin()) return 0;
    --segment;
    const uint64_t offset = address - segment->first;
    if (offset >= segment->second.size()) return 0;
    const size_t count = std::min<size_t>(bytes, segment->second.size() - offset);
    std::memcpy(to, segment->second.data() + offset, count);
    return count;
  }
  bool write(uint64_t address, const void* from, size_t bytes) override {
    uint8_t* to = at(address, bytes);
    if (to == nullptr) return false;
    std::memcpy(to, from, bytes);
    return true;
  }
  uint8_t byte(uint64_t address) { return *at(address, 1); }

 private:
  uint8_t* at(uint64_t address, size_t bytes) {
    auto segment = segments_.upper_bound(address);
    if (segment == segments_.begin()) return nullptr;
    --segment;
    const uint64_t offset = address - segment->first;
    return offset + bytes <= segment->second.size() ? segment->second.data() + offset : nullptr;
  }

  std::map<uint64_t, std::vector<uint8_t>> segments_;
};

}  // namespace heaptap::test
