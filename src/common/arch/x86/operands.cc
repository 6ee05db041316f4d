#include "common/arch/x86/operands.h"

namespace heaptap::arch::x86 {

uint64_t Operands::limited(uint64_t address) const { return low_bytes(address, is_64() ? 8 : 4); }

void Operands::set_stack_pointer(uint64_t value) { state_.general[kSp] = limited(value); }

bool Operands::push(uint64_t value, unsigned bytes) {
  set_stack_pointer(state_.general[kSp] - bytes);
  return write(state_.general[kSp], bytes, value);
}

bool Operands::pop(uint64_t& value, unsigned bytes) {
  if (!read(state_.general[kSp], bytes, value)) return false;
  set_stack_pointer(state_.general[kSp] + bytes);
  return true;
}

// Registers 4 to 7 of a byte operand without REX are ah, ch, dh, bh.
bool Operands::is_high_byte(uint8_t number, unsigned bytes) const {
  return bytes == 1 && parts_.rex == 0 && number >= 4;
}

uint64_t Operands::register_value(uint8_t number, unsigned bytes) const {
  if (is_high_byte(number, bytes)) return state_.general[number - 4] >> 8 & 0xff;
  return low_bytes(state_.general[number], bytes);
}

void Operands::set_register(uint8_t number, unsigned bytes, uint64_t value) {
  if (is_high_byte(number, bytes)) {
    uint64_t& whole = state_.general[number - 4];
    whole = (whole & ~uint64_t{0xff00}) | (value & 0xff) << 8;
    return;
  }
  uint64_t& whole = state_.general[number];
  // A 32-bit result clears the upper half; smaller ones leave it unchanged.
  whole = bytes >= 4 ? low_bytes(value, bytes) : (whole & ~low_bytes(~uint64_t{0}, bytes)) | low_bytes(value, bytes);
}

uint8_t Operands::register_of(Place place) const {
  switch (place) {
    case Place::kModrm:
      return parts_.rm;
    case Place::kReg:
      return parts_.reg;
    case Place::kOpcodeRegister:
      return static_cast<uint8_t>((parts_.opcode & 7) | (parts_.rex & 1) << 3);
    case Place::kCount:
      return kCx;
    default:
      return kAx;
  }
}

bool Operands::load(Place place, unsigned bytes, uint64_t& value) {
  if (place == Place::kModrm && parts_.has_memory) {
    uint64_t address = 0;
    return address_of(bytes, address) && read(address, bytes, value);
  }
  if (place == Place::kImmediate) {
    value = low_bytes(static_cast<uint64_t>(parts_.immediate), bytes);
  } else if (place == Place::kOne) {
    value = 1;
  } else {
    value = register_value(register_of(place), bytes);
  }
  return true;
}

bool Operands::store(Place place, unsigned bytes, uint64_t value) {
  if (place == Place::kModrm && parts_.has_memory) {
    uint64_t address = 0;
    return address_of(bytes, address) && write(address, bytes, value);
  }
  set_register(register_of(place), bytes, value);
  return true;
}

uint64_t Operands::part_of_address(uint8_t number) const {
  if (number == kNoRegister) return 0;
  return number == kProgramCounter ? next_ : state_.general[number];
}

uint64_t Operands::offset() const {
  const MemoryOperand& memory = parts_.memory;
  const uint64_t sum = part_of_address(memory.base) + (part_of_address(memory.index) << memory.scale_shift) +
                       static_cast<uint64_t>(memory.displacement);
  return low_bytes(sum, memory.width_bytes);
}

bool Operands::address_of(unsigned bytes, uint64_t& address) const {
  const Segment segment = parts_.memory.segment;
  address = offset();
  if (segment != Segment::kFlat) address += segment == Segment::kFs ? state_.fs_base : state_.gs_base;
  address = limited(address);
  return is_64() || address + bytes <= uint64_t{1} << 32;
}

bool Operands::read(uint64_t address, unsigned bytes, uint64_t& value) {
  uint8_t raw[8];
  if (!memory_.read(address, raw, bytes)) return false;
  value = load_little_endian(raw, bytes);
  return true;
}

bool Operands::write(uint64_t address, unsigned bytes, uint64_t value) {
  uint8_t raw[8];
  store_little_endian(raw, bytes, value);
  return memory_.write(address, raw, bytes);
}

}  // namespace heaptap::arch::x86
