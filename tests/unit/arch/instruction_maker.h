// Makes instructions of a given kind with random operands, and registers to go with them: so that memory operands, SP and
// jumps lie in the memory of RealCpu.
#pragma once
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "real_cpu.h"

namespace heaptap::tests {

enum class Immediate : uint8_t { kNone, kByte, kHalf, kOperand, kWide, kDistance };

// Which flags an instruction leaves undefined.
enum class Undefined : uint8_t { kNothing, kLogic, kShift, kMultiply, kBitTest };

struct InstructionKind {
  std::string name{};
  std::vector<uint8_t> opcode{};
  bool has_modrm = false;
  int group = -1;  // the ModRM byte's reg, if it is a part of the opcode
  Immediate immediate = Immediate::kNone;
  Undefined undefined = Undefined::kNothing;
  bool in_64 = true;
  bool in_32 = true;
  bool takes_operand_size = true;  // prefixes 66 and REX.W
  enum class Operand : uint8_t { kAny, kRegister, kMemory, kTarget } operand = Operand::kAny;
};

struct MadeInstruction {
  std::vector<uint8_t> bytes;
  uint64_t general[16] = {};  // in the encoding's order
  uint64_t fs_base = 0;
  uint64_t memory_address = 0;  // of its memory operand, if it has one
  uint64_t undefined_flags = 0;
};

class InstructionMaker {
 public:
  InstructionMaker(bool is_64, uint32_t seed) : is_64_(is_64), random_(seed) {}

  MadeInstruction make(const InstructionKind& kind) {
    do {
      make_one(kind);
    } while (kind.operand == InstructionKind::Operand::kTarget && has_unknown_address_);
    return made_;
  }

  uint64_t number() {
    switch (below(4)) {
      case 0:
        return below(4);
      case 1:
        return ~below(300);
      case 2:
        return uint64_t{1} << below(64);
      default:
        return random_();
    }
  }
  uint64_t below(uint64_t limit) { return random_() % limit; }
  bool one_in(unsigned count) { return below(count) == 0; }
  uint64_t data_address() { return RealCpu::kData + 6000 + below(4000); }

 private:
  static constexpr uint8_t kCount = 1, kStackPointer = 4, kFramePointer = 5;

  void make_one(const InstructionKind& kind) {
    kind_ = &kind;
    made_ = {};
    rex_ = 0;
    distance_at_ = 0;
    has_narrow_address_ = has_index_ = has_unknown_address_ = false;
    choose_registers();
    add_prefixes();
    made_.bytes.insert(made_.bytes.end(), kind.opcode.begin(), kind.opcode.end());
    if (kind.has_modrm) add_modrm();
    add_immediate();
    if (distance_at_ != 0) set_distance();
    made_.undefined_flags = undefined_flags();
  }

  void choose_registers() {
    for (uint64_t& value : made_.general) value = number();
    made_.general[4] = data_address();            // SP
    if (one_in(4)) made_.general[1] = below(70);  // CX, for shifts and jrcxz
    if (kind_->name == "leave") made_.general[kFramePointer] = data_address();
  }

  void add_prefixes() {
    if (kind_->takes_operand_size && one_in(4)) made_.bytes.push_back(0x66);
    has_fs_ = is_64_ && kind_->has_modrm && one_in(8);
    if (has_fs_) {
      made_.bytes.push_back(0x64);
      made_.fs_base = below(1000);
    }
    if (is_64_ && kind_->has_modrm && one_in(8)) {
      made_.bytes.push_back(0x67);
      has_narrow_address_ = true;
    }
    if (!is_64_ || one_in(2)) return;
    rex_ = static_cast<uint8_t>(0x40 | below(16));
    if (!kind_->takes_operand_size) rex_ &= 0xf7;
    made_.bytes.push_back(rex_);
  }

  bool has_wide_operand() const { return (rex_ & 8) != 0; }
  bool has_half_operand() const {
    return !has_wide_operand() && !made_.bytes.empty() && made_.bytes.front() == 0x66 && kind_->takes_operand_size;
  }

  void add_modrm() {
    const uint64_t reg = kind_->group >= 0 ? static_cast<uint64_t>(kind_->group) : below(8);
    uint64_t mod = below(4);
    if (kind_->operand == InstructionKind::Operand::kRegister) mod = 3;
    if (kind_->operand == InstructionKind::Operand::kMemory) mod = below(3);
    const uint64_t rm = below(8);
    made_.bytes.push_back(static_cast<uint8_t>(mod << 6 | reg << 3 | rm));
    if (mod == 3) {
      if (kind_->operand != InstructionKind::Operand::kTarget) return;
      made_.general[rm | base_bit()] = target();
      has_unknown_address_ = (rm | base_bit()) == kStackPointer;  // no stack then
      return;
    }
    made_.memory_address = data_address();
    add_address(mod, rm, made_.memory_address - made_.fs_base);
  }

  uint64_t base_bit() const { return (rex_ & 1U) << 3; }
  uint64_t index_bit() const { return (rex_ & 2U) << 2; }
  uint64_t target() { return RealCpu::kCode + below(100000); }

  void add_address(uint64_t mod, uint64_t rm, uint64_t address) {
    uint64_t base = rm;
    if (rm == 4) {
      const uint64_t scale = below(4);
      const uint64_t index = below(8);
      base = below(8);
      made_.bytes.push_back(static_cast<uint8_t>(scale << 6 | index << 3 | base));
      if ((index | index_bit()) != 4) address -= choose_index(index | index_bit(), base | base_bit(), mod, scale);
    }
    const bool has_base = mod != 0 || base != 5;
    const auto displacement = static_cast<int64_t>(below(200)) - 100;
    if (!has_base) {
      if (rm == 5 && is_64_) distance_at_ = made_.bytes.size();
      add(address, 4);
      return;
    }
    if (mod != 0) {
      add(static_cast<uint64_t>(displacement), mod == 1 ? 1 : 4);
      address -= static_cast<uint64_t>(displacement);
    }
    if (has_index_ && index_ == (base | base_bit())) return;  // chosen with the index
    base |= base_bit();
    made_.general[base] = address | (has_narrow_address_ && base != kStackPointer ? random_() << 32 : 0);
  }

  // What it adds to the address. A register that is the base as well holds its part of the whole.
  uint64_t choose_index(uint64_t index, uint64_t base, uint64_t mod, uint64_t scale) {
    has_index_ = true;
    index_ = index;
    const bool is_base = index == base && (mod != 0 || (base & 7) != 5);
    made_.general[index] = is_base ? data_address() / ((1U << scale) + 1) : below(100);
    has_unknown_address_ = is_base;  // somewhere in the data
    return made_.general[index] << scale;
  }

  void add(uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i) made_.bytes.push_back(static_cast<uint8_t>(value >> (8 * i)));
  }

  void add_immediate() {
    immediate_ = number();
    const unsigned operand = has_half_operand() ? 2 : 4;
    switch (kind_->immediate) {
      case Immediate::kNone:
        return;
      case Immediate::kByte:
        return add(immediate_, 1);
      case Immediate::kHalf:
        immediate_ = below(400);
        return add(immediate_, 2);
      case Immediate::kOperand:
        return add(immediate_, operand);
      case Immediate::kWide:
        return add(immediate_, has_wide_operand() ? 8 : operand);
      case Immediate::kDistance:
        return add(below(1 << 20), 4);
    }
  }

  void set_distance() {
    const uint64_t distance = made_.memory_address - made_.fs_base - RealCpu::kCode - made_.bytes.size();
    for (unsigned i = 0; i < 4; ++i) made_.bytes[distance_at_ + i] = static_cast<uint8_t>(distance >> (8 * i));
  }

  uint64_t undefined_flags() const {
    constexpr uint64_t kCarry = 1, kParity = 4, kAuxiliary = 0x10, kZero = 0x40, kSign = 0x80, kOverflow = 0x800;
    switch (kind_->undefined) {
      case Undefined::kNothing:
        return 0;
      case Undefined::kLogic:
        return kAuxiliary;
      case Undefined::kMultiply:
        return kAuxiliary | kSign | kZero | kParity;
      case Undefined::kBitTest:
        return kAuxiliary | kSign | kOverflow | kParity;
      case Undefined::kShift:
        break;
    }
    uint64_t count = 1;
    if (kind_->immediate == Immediate::kByte) count = immediate_;
    if (kind_->name.ends_with("cl")) count = made_.general[kCount];
    count &= has_wide_operand() ? 63 : 31;
    if (count == 0) return 0;
    const bool is_byte = (kind_->opcode[0] & 1) == 0;
    const unsigned bits = is_byte ? 8 : has_wide_operand() ? 64 : has_half_operand() ? 16 : 32;
    return kAuxiliary | (count == 1 ? 0 : kOverflow) | (count >= bits ? kCarry : 0);
  }

  const bool is_64_;
  std::mt19937_64 random_;
  const InstructionKind* kind_ = nullptr;
  MadeInstruction made_;
  uint8_t rex_ = 0;
  bool has_fs_ = false;
  bool has_narrow_address_ = false;
  bool has_index_ = false;
  bool has_unknown_address_ = false;
  uint64_t index_ = 0;
  uint64_t immediate_ = 0;
  size_t distance_at_ = 0;
};

}  // namespace heaptap::tests
