// Encoder of the Protocol Buffers wire format: numbered fields, as varints or as length-delimited bytes.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "common/wire/varint.h"

namespace heaptap::exports {

class ProtobufMessage {
 public:
  // 0 is left out: it is the default.
  void add(uint32_t field, uint64_t number) {
    if (number == 0) return;
    put(uint64_t{field} << 3);
    put(number);
  }
  void add(uint32_t field, std::string_view bytes) {
    put(uint64_t{field} << 3 | 2);
    put(bytes.size());
    bytes_ += bytes;
  }
  void add(uint32_t field, const ProtobufMessage& message) { add(field, std::string_view(message.bytes_)); }
  // Eight bytes.
  void add_fixed(uint32_t field, uint64_t number) {
    put(uint64_t{field} << 3 | 1);
    for (unsigned shift = 0; shift < 64; shift += 8) bytes_ += static_cast<char>(number >> shift & 0xff);
  }
  // Packed repeated field of numbers.
  void add_packed(uint32_t field, std::span<const uint64_t> numbers) {
    ProtobufMessage packed;
    for (const uint64_t number : numbers) packed.put(number);
    add(field, packed);
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  void put(uint64_t number) {
    uint8_t coded[wire::kMaxVarintBytes];
    bytes_.append(reinterpret_cast<const char*>(coded), static_cast<size_t>(wire::write_varint(coded, number) - coded));
  }
  std::string bytes_;
};

}  // namespace heaptap::exports
