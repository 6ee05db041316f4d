// Sources: Procedure Call Standard for the Arm 64-bit Architecture, 6.8 (arguments); Linux arch/arm64/include/uapi/asm/ptrace.h
// (user_pt_regs), include/uapi/asm-generic/unistd.h.
#include "common/arch/aarch64/cpu.h"

#include <elf.h>

#include "common/arch/aarch64/emulate.h"
#include "common/arch/aarch64/flow.h"
#include "common/arch/aarch64/register_image.h"
#include "common/arch/aarch64/registers.h"

namespace heaptap::arch::aarch64 {
namespace {

constexpr unsigned kInRegisters = 8;  // arguments
constexpr size_t kInstructionBytes = 4;

constexpr uint8_t kBreakpoint[] = {0x00, 0x00, 0x20, 0xd4};       // brk #0
constexpr uint8_t kSystemCallInstruction[] = {0x01, 0, 0, 0xd4};  // svc #0

// Numbers of asm-generic/unistd.h.
constexpr uint64_t kExitGroup = 94;
constexpr uint64_t kSignalAction = 134;
constexpr uint64_t kSignalReturn = 139;
constexpr uint64_t kProcessControl = 167;
constexpr uint64_t kClone = 220;
constexpr uint64_t kClone3 = 435;

class A64Cpu final : public Cpu {
 public:
  wire::Architecture architecture() const override { return kArchitecture; }
  uint16_t elf_machine() const override { return EM_AARCH64; }
  unsigned word_bytes() const override { return kWordBytes; }
  bool is_big_endian() const override { return false; }
  // A 32-bit thread's image is shorter; x86-64's has another size.
  bool runs(const RegisterImage& registers) const override { return registers.size == kWords * kWordBytes; }

  uint64_t program_counter(const RegisterImage& registers) const override { return word(registers, kProgramCounter); }
  uint64_t stack_pointer(const RegisterImage& registers) const override { return word(registers, kStackPointer); }
  uint64_t frame_pointer(const RegisterImage& registers) const override { return word(registers, kFramePointer); }
  uint64_t result(const RegisterImage& registers) const override { return word(registers, 0); }
  void set_result(RegisterImage& registers, uint64_t value) const override { set_word(registers, 0, value); }
  void set_program_counter(RegisterImage& registers, uint64_t address) const override {
    set_word(registers, kProgramCounter, address);
  }

  std::span<const uint8_t> breakpoint() const override { return kBreakpoint; }
  uint64_t breakpoint_address(const RegisterImage& registers) const override { return program_counter(registers); }

  Instruction decode(uint64_t address, std::span<const uint8_t> bytes) const override {
    if (bytes.size() < kInstructionBytes) return {};
    const auto instruction = static_cast<uint32_t>(load(bytes.data(), kInstructionBytes));
    Instruction known = flow_of(instruction, address);
    known.can_emulate = can_emulate(instruction);
    return known;
  }
  bool emulate(uint64_t address, std::span<const uint8_t> bytes, RegisterImage& registers,
               TargetMemory& memory) const override {
    return bytes.size() >= kInstructionBytes &&
           aarch64::emulate(static_cast<uint32_t>(load(bytes.data(), kInstructionBytes)), address, registers, memory);
  }

  // A landing pad; ADRP x16, LDR x17, ADD x16 (Procedure Call Standard, 6.1.1: both are free for that).
  LinkageStub linkage_stub() const override {
    return {.max_instructions = 4, .changed_offset = 16 * kWordBytes, .changed_bytes = 2 * kWordBytes};
  }

  bool may_use_red_zone(std::span<const uint8_t> /*function*/, uint64_t /*at*/) const override { return false; }

  bool call_place(const RegisterImage& registers, TargetMemory& /*memory*/, CallPlace& place) const override {
    const uint64_t sp = stack_pointer(registers);
    place = {.return_address = word(registers, kLink) & Unwinding().address_mask(),
             .slot = 0,
             .entry_stack_pointer = sp,
             .caller_stack_pointer = sp};
    return true;
  }

  bool argument(const RegisterImage& registers, TargetMemory& memory, unsigned index, uint64_t& value) const override {
    if (index >= kInRegisters) return read_word(*this, memory, stack_argument(registers, index), value);
    value = word(registers, index);
    return true;
  }

  bool set_argument(RegisterImage& registers, TargetMemory& memory, unsigned index, uint64_t value) const override {
    if (index < kInRegisters) {
      set_word(registers, index, value);
      return true;
    }
    uint8_t raw[kWordBytes];
    store(raw, sizeof(raw), value);
    return memory.write(stack_argument(registers, index), raw, sizeof(raw));
  }

  // It leaves the stack pointer as it was when the function was called.
  bool returns_from(const RegisterImage& registers, const CallPlace& place) const override {
    return stack_pointer(registers) == place.caller_stack_pointer;
  }

  // The signal frame is at SP when its trampoline runs.
  bool ends_handler(const RegisterImage& registers, TargetMemory& memory, uint64_t& resumed_at) const override {
    return is_call(registers, kSignalReturn) &&
           read_word(*this, memory, stack_pointer(registers) + Unwinding::kSignalStackPointer, resumed_at);
  }

  // The kernel doesn't tell the first argument, which the result has replaced.
  bool restart_interrupted_call(RegisterImage& /*registers*/) const override { return false; }
  // The kernel has moved the thread back to the instruction, and only the kernel's stack says why.
  bool repeat_call(RegisterImage& registers, TargetMemory& memory) const override {
    uint8_t bytes[kInstructionBytes];
    return memory.read(program_counter(registers), bytes, sizeof(bytes)) &&
           load(bytes, sizeof(bytes)) == load(kSystemCallInstruction, sizeof(kSystemCallInstruction));
  }
  bool ends_all_threads(const RegisterImage& registers) const override { return is_call(registers, kExitGroup); }
  std::span<const uint8_t> system_call_instruction() const override { return kSystemCallInstruction; }
  void set_system_call(RegisterImage& registers, uint64_t instruction, uint64_t number,
                       std::span<const uint64_t, 4> arguments) const override {
    for (unsigned i = 0; i < arguments.size(); ++i) set_word(registers, i, arguments[i]);
    set_word(registers, kSystemCall, number);
    set_program_counter(registers, instruction);
  }
  uint64_t signal_action_call() const override { return kSignalAction; }
  bool is_signal_action(const RegisterImage& registers, SignalActionCall& call) const override {
    if (!is_call(registers, kSignalAction)) return false;
    call = {.signal = word(registers, 0), .action = word(registers, 1), .before = word(registers, 2)};
    return true;
  }
  bool is_clone(uint64_t system_call) const override { return system_call == kClone; }
  bool is_clone3(uint64_t system_call) const override { return system_call == kClone3; }
  bool names_tracer(const RegisterImage& registers) const override {
    constexpr uint32_t kSetPtracer = 0x59616d61;
    return is_call(registers, kProcessControl) && static_cast<uint32_t>(word(registers, 0)) == kSetPtracer &&
           word(registers, 1) != 0;
  }
  bool makes_tasks(uint64_t system_call) const override { return is_clone(system_call) || is_clone3(system_call); }

 private:
  bool is_call(const RegisterImage& registers, uint64_t number) const {
    return runs(registers) && word(registers, kSystemCall) == number;
  }
  static uint64_t stack_argument(const RegisterImage& registers, unsigned index) {
    return word(registers, kStackPointer) + kWordBytes * (index - kInRegisters);
  }
};

constexpr A64Cpu kCpu;

}  // namespace

const Cpu& cpu() { return kCpu; }

}  // namespace heaptap::arch::aarch64
