// CPU whose threads aren't traced yet: no instruction is understood, and no register is read.
#pragma once
#include "common/arch/cpu.h"

namespace heaptap::arch {

class UntracedCpu final : public Cpu {
 public:
  struct Facts {
    wire::Architecture architecture;
    uint16_t elf_machine;
    unsigned word_bytes;
    bool is_big_endian;
  };
  explicit constexpr UntracedCpu(const Facts& facts) : facts_(facts) {}

  wire::Architecture architecture() const override { return facts_.architecture; }
  uint16_t elf_machine() const override { return facts_.elf_machine; }
  unsigned word_bytes() const override { return facts_.word_bytes; }
  bool is_big_endian() const override { return facts_.is_big_endian; }
  bool runs(const RegisterImage& /*registers*/) const override { return false; }

  uint64_t program_counter(const RegisterImage& /*registers*/) const override { return 0; }
  uint64_t stack_pointer(const RegisterImage& /*registers*/) const override { return 0; }
  uint64_t frame_pointer(const RegisterImage& /*registers*/) const override { return 0; }
  uint64_t result(const RegisterImage& /*registers*/) const override { return 0; }
  void set_result(RegisterImage& /*registers*/, uint64_t /*value*/) const override {}
  void set_program_counter(RegisterImage& /*registers*/, uint64_t /*address*/) const override {}

  std::span<const uint8_t> breakpoint() const override { return {}; }
  uint64_t breakpoint_address(const RegisterImage& /*registers*/) const override { return 0; }
  Instruction decode(uint64_t /*address*/, std::span<const uint8_t> /*bytes*/) const override { return {}; }
  bool emulate(uint64_t /*address*/, std::span<const uint8_t> /*bytes*/, RegisterImage& /*registers*/,
               TargetMemory& /*memory*/) const override {
    return false;
  }

  bool call_place(const RegisterImage& /*registers*/, TargetMemory& /*memory*/, CallPlace& /*place*/) const override {
    return false;
  }
  bool argument(const RegisterImage& /*registers*/, TargetMemory& /*memory*/, unsigned /*index*/,
                uint64_t& /*value*/) const override {
    return false;
  }
  bool set_argument(RegisterImage& /*registers*/, TargetMemory& /*memory*/, unsigned /*index*/,
                    uint64_t /*value*/) const override {
    return false;
  }
  bool returns_from(const RegisterImage& /*registers*/, const CallPlace& /*place*/) const override { return false; }
  bool ends_handler(const RegisterImage& /*registers*/, TargetMemory& /*memory*/,
                    uint64_t& /*resumed_at*/) const override {
    return false;
  }
  bool restart_interrupted_call(RegisterImage& /*registers*/) const override { return false; }

 private:
  Facts facts_;
};

}  // namespace heaptap::arch
