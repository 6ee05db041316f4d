// Operands of an instruction: registers, parts of them, memory, the stack.
#pragma once
#include "common/arch/x86/action.h"
#include "common/arch/x86/machine_state.h"

namespace heaptap::arch::x86 {

// Values have their upper bits clear. False: the memory isn't accessible.
class Operands {
 public:
  // `next`: address of the next instruction, which some operands are relative to.
  Operands(const Parts& parts, uint64_t next, MachineState& state, TargetMemory& memory)
      : parts_(parts), next_(next), state_(state), memory_(memory) {}

  bool load(Place place, unsigned bytes, uint64_t& value);
  bool store(Place place, unsigned bytes, uint64_t value);
  void set_register(uint8_t number, unsigned bytes, uint64_t value);
  // Of the memory operand, without its segment's base.
  [[nodiscard]] uint64_t offset() const;

  void set_stack_pointer(uint64_t value);
  bool push(uint64_t value, unsigned bytes);
  bool pop(uint64_t& value, unsigned bytes);

  // Truncates an address to the width of the mode.
  [[nodiscard]] uint64_t limited(uint64_t address) const;

 private:
  [[nodiscard]] bool is_64() const { return parts_.mode == Mode::k64; }
  [[nodiscard]] bool is_high_byte(uint8_t number, unsigned bytes) const;
  [[nodiscard]] uint64_t register_value(uint8_t number, unsigned bytes) const;
  [[nodiscard]] uint8_t register_of(Place place) const;
  [[nodiscard]] uint64_t part_of_address(uint8_t number) const;
  bool address_of(unsigned bytes, uint64_t& address) const;
  bool read(uint64_t address, unsigned bytes, uint64_t& value);
  bool write(uint64_t address, unsigned bytes, uint64_t value);

  const Parts& parts_;
  uint64_t next_;
  MachineState& state_;
  TargetMemory& memory_;
};

}  // namespace heaptap::arch::x86
