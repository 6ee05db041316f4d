#include "common/arch/x86/decode.h"

#include "common/arch/x86/opcode_lengths.h"

namespace heaptap::arch::x86 {
namespace {

constexpr size_t kMaxBytes = 15;

class Decoder {
 public:
  Decoder(Mode mode, std::span<const uint8_t> bytes, Parts& parts)
      : bytes_(bytes.first(bytes.size() < kMaxBytes ? bytes.size() : kMaxBytes)), parts_(parts) {
    parts_.mode = mode;
  }

  bool run() {
    read_prefixes();
    const char form = read_opcode();
    if (form == 'x' || !ok_) return false;
    read_operands(form);
    parts_.length_bytes = static_cast<uint8_t>(at_);
    return ok_;
  }

 private:
  uint8_t peek() const { return at_ < bytes_.size() ? bytes_[at_] : 0; }
  uint8_t next() { return static_cast<uint8_t>(little_endian(1)); }

  uint64_t little_endian(size_t count) {
    if (bytes_.size() - at_ < count) {
      ok_ = false;
      return 0;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < count; ++i) value |= uint64_t{bytes_[at_ + i]} << (8 * i);
    at_ += count;
    return value;
  }

  int64_t signed_value(size_t count) {
    const uint64_t value = little_endian(count);
    const auto unused = static_cast<unsigned>(64 - 8 * count);
    return static_cast<int64_t>(value << unused) >> unused;
  }

  bool is_64() const { return parts_.mode == Mode::k64; }

  bool take_prefix(uint8_t byte) {
    switch (byte) {
      case 0x26:
      case 0x2e:
      case 0x36:
      case 0x3e:  // es, cs, ss, ds: ignored in 64-bit mode, and equivalent in 32-bit mode
        if (!is_64()) parts_.segment = Segment::kFlat;
        return true;
      case 0x64:
        parts_.segment = Segment::kFs;
        return true;
      case 0x65:
        parts_.segment = Segment::kGs;
        return true;
      case 0x66:
        return parts_.has_operand_size = true;
      case 0x67:
        return parts_.has_address_size = true;
      case 0xf0:
        return parts_.has_lock = true;
      case 0xf2:
        return parts_.has_repeat_not_equal = true;
      case 0xf3:
        return parts_.has_repeat = true;
      default:
        return false;
    }
  }

  void read_prefixes() {
    while (at_ < bytes_.size()) {
      const uint8_t byte = bytes_[at_];
      if (is_64() && (byte & 0xf0) == 0x40) {
        parts_.rex = byte;
      } else if (take_prefix(byte)) {
        parts_.rex = 0;  // valid only right before the opcode
      } else {
        return;
      }
      ++at_;
    }
    ok_ = false;
  }

  char read_opcode() {
    const uint8_t opcode = next();
    if (opcode == 0x0f) return read_long_opcode();
    // In 32-bit mode these are other instructions, with memory operands only.
    const bool has_register = is_64() || (peek() & 0xc0) == 0xc0;
    if ((opcode == 0xc4 || opcode == 0xc5 || opcode == 0x62) && has_register) return read_vector_opcode(opcode);
    if (opcode == 0x8f && (peek() & 0x1f) >= 8) return read_vector_opcode(opcode);
    parts_.opcode = opcode;
    if (is_64() && is_32_bit_only(opcode)) return 'x';
    return kOneByteMap[opcode];
  }

  char read_long_opcode() {
    const uint8_t opcode = next();
    if (opcode == 0x38 || opcode == 0x3a) {
      parts_.map = Map::kThreeByte;
      parts_.opcode = next();
      return opcode == 0x38 ? 'm' : 'B';
    }
    parts_.map = Map::kTwoByte;
    parts_.opcode = opcode;
    return kTwoByteMap[opcode];
  }

  char read_vector_opcode(uint8_t prefix) {
    if (parts_.rex != 0 || parts_.has_lock || parts_.has_operand_size || parts_.has_repeat ||
        parts_.has_repeat_not_equal) {
      return 'x';
    }
    parts_.map = Map::kVector;
    uint8_t map = 1;
    if (prefix == 0xc5) {
      next();
    } else {
      map = next() & (prefix == 0x62 ? 7 : 0x1f);
      next();
    }
    if (prefix == 0x62) next();
    parts_.opcode = next();
    const bool is_xop = prefix == 0x8f;
    if (is_xop) return map == 8 ? 'B' : map == 9 ? 'm' : map == 10 ? 'Z' : 'x';
    if (map == 1) return vector_form(parts_.opcode);
    if (map == 3) return 'B';
    const bool is_half_precision = prefix == 0x62 && (map == 5 || map == 6);
    return map == 2 || is_half_precision ? 'm' : 'x';
  }

  size_t immediate_bytes() const { return parts_.has_operand_size && !parts_.has_rex_w() ? 2 : 4; }

  void read_operands(char form) {
    switch (form) {
      case 'm':
      case 'B':
      case 'Z':
      case 'g':
      case 'G':
        read_modrm();
        break;
      default:
        break;
    }
    const bool is_test = parts_.has_modrm && parts_.modrm_group() < 2;
    const auto value = [&](size_t count) { parts_.immediate = signed_value(count); };
    switch (form) {
      case 'b':
      case 'B':
      case 'r':
        return value(1);
      case 'g':
        return is_test ? value(1) : void();
      case 'G':
        return is_test ? value(immediate_bytes()) : void();
      case 'z':
      case 'Z':
        return value(immediate_bytes());
      case 'v':
        return value(parts_.has_rex_w() ? 8 : immediate_bytes());
      case 'w':
        return value(2);
      case 'R':
        return read_distance();
      case 'e':
        little_endian(3);
        return;
      case 'o':
        return read_offset();
      case 'f':
        little_endian(immediate_bytes() + 2);
        return;
      default:
        return read_field_numbers();
    }
  }

  // With an operand size prefix the length depends on the CPU.
  void read_distance() {
    if (parts_.has_operand_size && !parts_.has_rex_w()) ok_ = false;
    parts_.immediate = signed_value(4);
  }

  // AMD's extrq and insertq have two immediates by their prefix.
  void read_field_numbers() {
    const bool is_field_move = parts_.map == Map::kTwoByte && parts_.opcode == 0x78 &&
                               (parts_.has_operand_size || parts_.has_repeat_not_equal);
    if (is_field_move) little_endian(2);
  }

  void read_offset() {
    parts_.memory.width_bytes = address_bytes();
    parts_.memory.segment = parts_.segment;
    parts_.memory.displacement = signed_value(address_bytes());
    parts_.has_memory = true;
  }

  uint8_t address_bytes() const {
    const uint8_t full = is_64() ? 8 : 4;
    return parts_.has_address_size ? full / 2 : full;
  }

  void read_modrm() {
    const uint8_t modrm = next();
    parts_.has_modrm = true;
    parts_.mod = modrm >> 6;
    parts_.reg = static_cast<uint8_t>((modrm >> 3 & 7) | (parts_.rex & 4) << 1);
    parts_.rm = static_cast<uint8_t>((modrm & 7) | (parts_.rex & 1) << 3);
    // Moves from and to control and debug registers have no memory operand, whatever mod is.
    const bool is_control = parts_.map == Map::kTwoByte && (parts_.opcode & 0xfc) == 0x20;
    if (parts_.mod == 3 || is_control) return;
    parts_.has_memory = true;
    parts_.memory.segment = parts_.segment;
    parts_.memory.width_bytes = address_bytes();
    address_bytes() == 2 ? read_16_bit_address(modrm & 7) : read_address(modrm & 7);
  }

  void read_16_bit_address(uint8_t rm) {
    if (parts_.mod == 1) signed_value(1);
    if (parts_.mod == 2 || (parts_.mod == 0 && rm == 6)) signed_value(2);
  }

  void read_address(uint8_t rm) {
    MemoryOperand& memory = parts_.memory;
    uint8_t base = rm;
    if (rm == 4) {
      const uint8_t sib = next();
      const auto index = static_cast<uint8_t>((sib >> 3 & 7) | (parts_.rex & 2) << 2);
      if (index != 4) memory.index = index;
      memory.scale_shift = sib >> 6;
      base = sib & 7;
    }
    const bool has_no_base = parts_.mod == 0 && base == 5;
    if (!has_no_base) memory.base = static_cast<uint8_t>(base | (parts_.rex & 1) << 3);
    if (has_no_base && rm == 5 && is_64()) memory.base = kProgramCounter;
    if (parts_.mod == 1) memory.displacement = signed_value(1);
    if (parts_.mod == 2 || has_no_base) memory.displacement = signed_value(4);
  }

  std::span<const uint8_t> bytes_;
  Parts& parts_;
  size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace

bool take_apart(Mode mode, std::span<const uint8_t> bytes, Parts& parts) {
  parts = Parts{};
  return Decoder(mode, bytes, parts).run();
}

}  // namespace heaptap::arch::x86
