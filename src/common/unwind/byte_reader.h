// Bounds-checked reader of DWARF encodings, from memory mapped here. Past the end every read gives 0 and ok() turns
// false, so that one check at the end suffices. Freestanding.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace heaptap::unwind {

// Pointer encodings of .eh_frame (LSB Core, 10.5.1).
enum PointerEncoding : uint8_t {
  kPointerAbsolute = 0x00,
  kPointerUleb = 0x01,
  kPointerU2 = 0x02,
  kPointerU4 = 0x03,
  kPointerU8 = 0x04,
  kPointerSleb = 0x09,
  kPointerS2 = 0x0a,
  kPointerS4 = 0x0b,
  kPointerS8 = 0x0c,
  kPointerFormat = 0x0f,
  kPointerPcRelative = 0x10,
  kPointerDataRelative = 0x30,
  kPointerApplication = 0x70,
  kPointerIndirect = 0x80,
  kPointerOmitted = 0xff,
};

class ByteReader {
 public:
  // The bytes of [begin, end) are mapped here at `mapped`; `begin` is their address in the target. `is_swapped`: its numbers have the
  // other byte order.
  ByteReader(const uint8_t* mapped, uint64_t begin, uint64_t end, bool is_swapped = false)
      : at_(mapped), end_(mapped + (end > begin ? end - begin : 0)), address_(begin), is_swapped_(is_swapped) {}

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return at_ >= end_; }
  [[nodiscard]] uint64_t address() const { return address_; }
  [[nodiscard]] size_t left() const { return static_cast<size_t>(end_ - at_); }
  [[nodiscard]] const uint8_t* here() const { return at_; }

  void skip(uint64_t bytes) {
    if (bytes > left()) {
      fail();
      return;
    }
    at_ += bytes;
    address_ += bytes;
  }

  // Cuts the range so that it ends `bytes` from here.
  void limit(uint64_t bytes) {
    if (bytes > left()) {
      fail();
      return;
    }
    end_ = at_ + bytes;
  }

  template <typename T>
  T fixed() {
    if (sizeof(T) > left()) {
      fail();
      return 0;
    }
    T value;
    __builtin_memcpy(&value, at_, sizeof(T));
    skip(sizeof(T));
    if (!is_swapped_) return value;
    if constexpr (sizeof(T) == 2) return static_cast<T>(__builtin_bswap16(static_cast<uint16_t>(value)));
    if constexpr (sizeof(T) == 4) return static_cast<T>(__builtin_bswap32(static_cast<uint32_t>(value)));
    if constexpr (sizeof(T) == 8) return static_cast<T>(__builtin_bswap64(static_cast<uint64_t>(value)));
    return value;
  }
  uint8_t u8() { return fixed<uint8_t>(); }

  uint64_t uleb() {
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const uint8_t byte = u8();
      if (shift < 64) value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0 || !ok_) return value;
    }
  }

  int64_t sleb() {
    uint64_t value = 0;
    for (unsigned shift = 0;;) {
      const uint8_t byte = u8();
      if (shift < 64) value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      shift += 7;
      if ((byte & 0x80) == 0 || !ok_) {
        if (shift < 64 && (byte & 0x40) != 0) value |= ~uint64_t{0} << shift;
        return static_cast<int64_t>(value);
      }
    }
  }

  // A pointer in the given encoding; `data_base` is the base of data-relative ones. Indirect ones aren't followed.
  uint64_t pointer(uint8_t encoding, uint64_t data_base, size_t word_bytes) {
    const uint64_t here = address_;
    uint64_t value = 0;
    switch (encoding & kPointerFormat) {
      case kPointerAbsolute:
        value = word_bytes == 8 ? fixed<uint64_t>() : fixed<uint32_t>();
        break;
      case kPointerUleb:
        value = uleb();
        break;
      case kPointerU2:
        value = fixed<uint16_t>();
        break;
      case kPointerU4:
        value = fixed<uint32_t>();
        break;
      case kPointerU8:
        value = fixed<uint64_t>();
        break;
      case kPointerSleb:
        value = static_cast<uint64_t>(sleb());
        break;
      case kPointerS2:
        value = static_cast<uint64_t>(static_cast<int64_t>(fixed<int16_t>()));
        break;
      case kPointerS4:
        value = static_cast<uint64_t>(static_cast<int64_t>(fixed<int32_t>()));
        break;
      case kPointerS8:
        value = static_cast<uint64_t>(fixed<int64_t>());
        break;
      default:
        fail();
        return 0;
    }
    switch (encoding & kPointerApplication) {
      case 0:
        break;
      case kPointerPcRelative:
        value += here;
        break;
      case kPointerDataRelative:
        value += data_base;
        break;
      default:
        fail();
        return 0;
    }
    return value;
  }

 private:
  void fail() {
    ok_ = false;
    at_ = end_;
  }

  const uint8_t* at_;
  const uint8_t* end_;
  uint64_t address_;
  bool is_swapped_;
  bool ok_ = true;
};

}  // namespace heaptap::unwind
