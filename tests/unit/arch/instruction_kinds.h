// Every kind of instruction that can be emulated.
#pragma once
#include "instruction_maker.h"

namespace heaptap::tests {

class KindList {
 public:
  static std::vector<InstructionKind> all() {
    KindList list;
    list.add_arithmetic();
    list.add_shifts();
    list.add_moves();
    list.add_conditional();
    list.add_stack();
    list.add_flow();
    return std::move(list.kinds_);
  }

 private:
  using Operand = InstructionKind::Operand;

  void add(InstructionKind kind) { kinds_.push_back(std::move(kind)); }
  // Both forms, of bytes and of larger operands.
  void add_both(const std::string& name, uint8_t opcode, InstructionKind rest) {
    for (uint8_t i = 0; i < 2; ++i) {
      rest.name = name + (i == 0 ? " byte" : "");
      rest.opcode = {static_cast<uint8_t>(opcode + i)};
      add(rest);
    }
  }

  void add_arithmetic() {
    constexpr const char* kNames[] = {"add", "or", "adc", "sbb", "and", "sub", "xor", "cmp"};
    for (int number = 0; number < 8; ++number) {
      const std::string name = kNames[number];
      const Undefined undefined = number == 1 || number == 4 || number == 6 ? Undefined::kLogic : Undefined::kNothing;
      const auto opcode = static_cast<uint8_t>(number << 3);
      add_both(name + " rm,r", opcode, {.has_modrm = true, .undefined = undefined});
      add_both(name + " r,rm", opcode + 2, {.has_modrm = true, .undefined = undefined});
      add({.name = name + " al,i",
           .opcode = {static_cast<uint8_t>(opcode + 4)},
           .immediate = Immediate::kByte,
           .undefined = undefined});
      add({.name = name + " a,i",
           .opcode = {static_cast<uint8_t>(opcode + 5)},
           .immediate = Immediate::kOperand,
           .undefined = undefined});
      add({.name = name + " rm,i byte",
           .opcode = {0x80},
           .has_modrm = true,
           .group = number,
           .immediate = Immediate::kByte,
           .undefined = undefined});
      add({.name = name + " rm,i",
           .opcode = {0x81},
           .has_modrm = true,
           .group = number,
           .immediate = Immediate::kOperand,
           .undefined = undefined});
      add({.name = name + " rm,i short",
           .opcode = {0x83},
           .has_modrm = true,
           .group = number,
           .immediate = Immediate::kByte,
           .undefined = undefined});
    }
    add_both("test", 0x84, {.has_modrm = true, .undefined = Undefined::kLogic});
    add({.name = "test al,i", .opcode = {0xa8}, .immediate = Immediate::kByte, .undefined = Undefined::kLogic});
    add({.name = "test a,i", .opcode = {0xa9}, .immediate = Immediate::kOperand, .undefined = Undefined::kLogic});
    for (int group = 0; group < 2; ++group) {
      add({.name = "test rm,i byte",
           .opcode = {0xf6},
           .has_modrm = true,
           .group = group,
           .immediate = Immediate::kByte,
           .undefined = Undefined::kLogic});
      add({.name = "test rm,i",
           .opcode = {0xf7},
           .has_modrm = true,
           .group = group,
           .immediate = Immediate::kOperand,
           .undefined = Undefined::kLogic});
      add_both(group == 0 ? "inc" : "dec", 0xfe, {.has_modrm = true, .group = group});
      add_both(group == 0 ? "not" : "neg", 0xf6, {.has_modrm = true, .group = group + 2});
    }
    for (uint8_t number = 0; number < 16; ++number) {
      add({.name = "inc or dec r", .opcode = {static_cast<uint8_t>(0x40 + number)}, .in_64 = false});
    }
    add({.name = "imul", .opcode = {0x0f, 0xaf}, .has_modrm = true, .undefined = Undefined::kMultiply});
    add({.name = "imul i",
         .opcode = {0x69},
         .has_modrm = true,
         .immediate = Immediate::kOperand,
         .undefined = Undefined::kMultiply});
    add({.name = "imul i short",
         .opcode = {0x6b},
         .has_modrm = true,
         .immediate = Immediate::kByte,
         .undefined = Undefined::kMultiply});
    add({.name = "bt",
         .opcode = {0x0f, 0xa3},
         .has_modrm = true,
         .undefined = Undefined::kBitTest,
         .operand = Operand::kRegister});
    add({.name = "bt i",
         .opcode = {0x0f, 0xba},
         .has_modrm = true,
         .group = 4,
         .immediate = Immediate::kByte,
         .undefined = Undefined::kBitTest});
  }

  void add_shifts() {
    for (const int number : {4, 5, 7}) {
      const std::string name = number == 4 ? "shl" : number == 5 ? "shr" : "sar";
      add_both(name + " by 1", 0xd0, {.has_modrm = true, .group = number, .undefined = Undefined::kShift});
      add_both(name + " by i", 0xc0,
               {.has_modrm = true, .group = number, .immediate = Immediate::kByte, .undefined = Undefined::kShift});
      add({.name = name + " byte by cl",
           .opcode = {0xd2},
           .has_modrm = true,
           .group = number,
           .undefined = Undefined::kShift});
      add({.name = name + " by cl",
           .opcode = {0xd3},
           .has_modrm = true,
           .group = number,
           .undefined = Undefined::kShift});
    }
  }

  void add_moves() {
    add_both("mov rm,r", 0x88, {.has_modrm = true});
    add_both("mov r,rm", 0x8a, {.has_modrm = true});
    add({.name = "mov rm,i byte", .opcode = {0xc6}, .has_modrm = true, .group = 0, .immediate = Immediate::kByte});
    add({.name = "mov rm,i", .opcode = {0xc7}, .has_modrm = true, .group = 0, .immediate = Immediate::kOperand});
    for (uint8_t number = 0; number < 8; ++number) {
      add({.name = "mov r,i byte", .opcode = {static_cast<uint8_t>(0xb0 + number)}, .immediate = Immediate::kByte});
      add({.name = "mov r,i", .opcode = {static_cast<uint8_t>(0xb8 + number)}, .immediate = Immediate::kWide});
      add({.name = "xchg a,r", .opcode = {static_cast<uint8_t>(0x90 + number)}});
    }
    add_both("xchg", 0x86, {.has_modrm = true, .operand = Operand::kRegister});
    add({.name = "lea", .opcode = {0x8d}, .has_modrm = true, .operand = Operand::kMemory});
    add({.name = "movsxd", .opcode = {0x63}, .has_modrm = true, .in_32 = false});
    for (const uint8_t opcode : std::initializer_list<uint8_t>{0xb6, 0xb7, 0xbe, 0xbf})
      add({.name = "movzx, movsx", .opcode = {0x0f, opcode}, .has_modrm = true});
    add({.name = "cbw", .opcode = {0x98}});
    add({.name = "cwd", .opcode = {0x99}});
    add({.name = "nop", .opcode = {0x0f, 0x1f}, .has_modrm = true});
    add({.name = "pause", .opcode = {0xf3, 0x90}, .takes_operand_size = false});
    for (const uint8_t last : std::initializer_list<uint8_t>{0xfa, 0xfb})
      add({.name = "endbr", .opcode = {0xf3, 0x0f, 0x1e, last}, .takes_operand_size = false});
  }

  void add_conditional() {
    for (uint8_t condition = 0; condition < 16; ++condition) {
      const auto opcode = [condition](int base) { return static_cast<uint8_t>(base + condition); };
      add({.name = "jcc", .opcode = {opcode(0x70)}, .immediate = Immediate::kByte, .takes_operand_size = false});
      add({.name = "jcc far",
           .opcode = {0x0f, opcode(0x80)},
           .immediate = Immediate::kDistance,
           .takes_operand_size = false});
      add({.name = "setcc", .opcode = {0x0f, opcode(0x90)}, .has_modrm = true});
      add({.name = "cmovcc", .opcode = {0x0f, opcode(0x40)}, .has_modrm = true});
    }
    add({.name = "jcxz", .opcode = {0xe3}, .immediate = Immediate::kByte, .takes_operand_size = false});
  }

  void add_stack() {
    for (uint8_t number = 0; number < 8; ++number) {
      add({.name = "push r", .opcode = {static_cast<uint8_t>(0x50 + number)}});
      add({.name = "pop r", .opcode = {static_cast<uint8_t>(0x58 + number)}});
    }
    add({.name = "push i", .opcode = {0x68}, .immediate = Immediate::kOperand});
    add({.name = "push i short", .opcode = {0x6a}, .immediate = Immediate::kByte});
    add({.name = "push rm", .opcode = {0xff}, .has_modrm = true, .group = 6});
    add({.name = "pop rm", .opcode = {0x8f}, .has_modrm = true, .group = 0});
    add({.name = "leave", .opcode = {0xc9}, .takes_operand_size = false});
  }

  void add_flow() {
    add({.name = "ret", .opcode = {0xc3}, .takes_operand_size = false});
    add({.name = "rep ret", .opcode = {0xf3, 0xc3}, .takes_operand_size = false});
    add({.name = "bnd ret", .opcode = {0xf2, 0xc3}, .takes_operand_size = false});
    add({.name = "ret i", .opcode = {0xc2}, .immediate = Immediate::kHalf, .takes_operand_size = false});
    add({.name = "jmp", .opcode = {0xe9}, .immediate = Immediate::kDistance, .takes_operand_size = false});
    add({.name = "jmp short", .opcode = {0xeb}, .immediate = Immediate::kByte, .takes_operand_size = false});
    add({.name = "call", .opcode = {0xe8}, .immediate = Immediate::kDistance, .takes_operand_size = false});
    add({.name = "jmp rm",
         .opcode = {0xff},
         .has_modrm = true,
         .group = 4,
         .takes_operand_size = false,
         .operand = Operand::kTarget});
    add({.name = "call rm",
         .opcode = {0xff},
         .has_modrm = true,
         .group = 2,
         .takes_operand_size = false,
         .operand = Operand::kTarget});
  }

  std::vector<InstructionKind> kinds_;
};

}  // namespace heaptap::tests
