// Checksum of a debug file in .gnu_debuglink: CRC-32 (ITU-T V.42), reflected, polynomial 0xedb88320.
#pragma once
#include <array>
#include <cstdint>
#include <span>

namespace heaptap::base {

class Crc32 {
 public:
  void add(std::span<const uint8_t> bytes) {
    for (const uint8_t byte : bytes) value_ = value_ >> 8 ^ kTable[(value_ ^ byte) & 0xff];
  }
  [[nodiscard]] uint32_t value() const { return ~value_; }

 private:
  static constexpr std::array<uint32_t, 256> make_table() {
    std::array<uint32_t, 256> table{};
    for (uint32_t byte = 0; byte < table.size(); ++byte) {
      uint32_t value = byte;
      for (int bit = 0; bit < 8; ++bit) value = (value & 1) != 0 ? value >> 1 ^ 0xedb88320U : value >> 1;
      table[byte] = value;
    }
    return table;
  }
  static const std::array<uint32_t, 256> kTable;

  uint32_t value_ = ~0U;
};

inline constexpr std::array<uint32_t, 256> Crc32::kTable = Crc32::make_table();

}  // namespace heaptap::base
