// Common base of the x86-64 and i386 Cpu: all that follows from the register layout of the image.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <span>

#include "common/arch/cpu.h"
#include "common/arch/x86/machine_state.h"

namespace heaptap::arch::x86 {

// Indices of words in a RegisterImage.
struct ImageLayout {
  uint8_t word_bytes;
  uint8_t words;
  uint8_t general_count;
  uint8_t general[16];  // by RegisterNumber
  uint8_t program_counter;
  uint8_t flags;
  uint8_t code_segment;
  uint8_t user_code_segments[2];  // its values, on kernels of either width (arch/x86/include/asm/segment.h)
  uint8_t system_call;            // number of the system call that the thread returns from, or negative
};

class CommonCpu : public Cpu {
 public:
  unsigned word_bytes() const final { return layout_.word_bytes; }
  bool is_big_endian() const final { return false; }
  bool runs(const RegisterImage& registers) const final;

  uint64_t program_counter(const RegisterImage& registers) const final;
  uint64_t stack_pointer(const RegisterImage& registers) const final;
  uint64_t frame_pointer(const RegisterImage& registers) const final;
  uint64_t result(const RegisterImage& registers) const final;
  void set_result(RegisterImage& registers, uint64_t value) const final;
  void set_program_counter(RegisterImage& registers, uint64_t address) const final;

  std::span<const uint8_t> breakpoint() const final;
  uint64_t breakpoint_address(const RegisterImage& registers) const final;

  Instruction decode(uint64_t address, std::span<const uint8_t> bytes) const final;
  bool emulate(uint64_t address, std::span<const uint8_t> bytes, RegisterImage& registers,
               TargetMemory& memory) const final;

  bool may_use_red_zone(std::span<const uint8_t> function, uint64_t at) const final;

  bool call_place(const RegisterImage& registers, TargetMemory& memory, CallPlace& place) const final;
  bool returns_from(const RegisterImage& registers, const CallPlace& place) const final;

  bool restart_interrupted_call(RegisterImage& registers) const final;
  bool repeat_call(RegisterImage& registers, TargetMemory& memory) const final;
  bool ends_all_threads(const RegisterImage& registers) const final;
  bool is_clone(uint64_t system_call) const final;
  bool is_clone3(uint64_t system_call) const final;
  bool names_tracer(const RegisterImage& registers) const final;
  bool makes_tasks(uint64_t system_call) const final;

  std::span<const uint8_t> system_call_instruction() const final;
  void set_system_call(RegisterImage& registers, uint64_t instruction, uint64_t number,
                       std::span<const uint64_t, 4> arguments) const final;
  uint64_t signal_action_call() const final;
  bool is_signal_action(const RegisterImage& registers, SignalActionCall& call) const final;

 protected:
  constexpr CommonCpu(Mode mode, const ImageLayout& layout) : mode_(mode), layout_(layout) {}
  ~CommonCpu() = default;

  // Adds segments, which differ between the two images. False: addresses aren't linear.
  virtual bool add_segments(const RegisterImage& registers, MachineState& state) const = 0;
  [[nodiscard]] virtual bool does_nothing_when_interrupted(uint64_t system_call) const = 0;

  [[nodiscard]] uint64_t word(const RegisterImage& registers, unsigned index) const;
  bool stack_word(TargetMemory& memory, uint64_t address, uint64_t& value) const;
  // Reads a stack argument: the words after a call's return address.
  bool stack_argument(const RegisterImage& registers, TargetMemory& memory, unsigned index, uint64_t& value) const;
  bool set_stack_argument(const RegisterImage& registers, TargetMemory& memory, unsigned index, uint64_t value) const;
  void set_word(RegisterImage& registers, unsigned index, uint64_t value) const;

 private:
  [[nodiscard]] uint64_t argument_place(const RegisterImage& registers, unsigned index) const;
  [[nodiscard]] MachineState state_of(const RegisterImage& registers) const;
  void keep(const MachineState& state, RegisterImage& registers) const;

  Mode mode_;
  const ImageLayout& layout_;
};

}  // namespace heaptap::arch::x86
