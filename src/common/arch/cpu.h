// CPU interface of the tracer, for the CPU of its target: registers as given by ptrace, breakpoints, instructions, calls. One
// object a CPU. Facts and computations only, no I/O: the caller reads and writes the target. All CPUs compile on every machine.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <span>

#include "common/wire/architecture.h"

namespace heaptap::arch {

// General registers of a thread, as given by PTRACE_GETREGSET with NT_PRSTATUS: for a 32-bit thread the 32-bit form.
struct RegisterImage {
  static constexpr size_t kMaxBytes = 512;
  alignas(8) uint8_t bytes[kMaxBytes] = {};
  size_t size = 0;
};

// Access to the target's memory, for instructions and calling conventions. False: not readable or writable as a whole.
class TargetMemory {
 public:
  virtual bool read(uint64_t address, void* to, size_t bytes) = 0;
  virtual bool write(uint64_t address, const void* from, size_t bytes) = 0;

 protected:
  ~TargetMemory() = default;
};

// Control flow of an instruction.
enum class Flow : uint8_t {
  kNext,          // behind it
  kJump,          // at `target`
  kBranch,        // at `target` or behind it
  kCall,          // returns to the next instruction
  kIndirectJump,  // to an address in a register or in memory
  kReturn,
  kStop,     // nowhere
  kUnknown,  // the instruction isn't understood; its length is 0
};

struct Instruction {
  uint8_t length_bytes = 0;
  Flow flow = Flow::kUnknown;
  bool can_emulate = false;
  uint64_t target = 0;
};

// Return of a call, determined at the function's first instruction.
struct CallPlace {
  uint64_t return_address = 0;
  uint64_t slot = 0;  // where that lies on the stack; 0: in a register
  // The stack pointer at the function's first instruction, and once it has returned.
  uint64_t entry_stack_pointer = 0;
  uint64_t caller_stack_pointer = 0;
};

// Arguments of the system call that reads and sets a signal's action (rt_sigaction); the two are addresses, or 0.
struct SignalActionCall {
  uint64_t signal = 0;
  uint64_t action = 0;  // to be set
  uint64_t before = 0;  // place for the previous one
};

// Stub between a call and a function of another object, which jumps there through a table.
struct LinkageStub {
  unsigned max_instructions = 1;  // before the jump: a landing pad
  // What it may change besides the program counter: these bytes of a RegisterImage.
  size_t changed_offset = 0;
  size_t changed_bytes = 0;
};

class Cpu {
 public:
  [[nodiscard]] virtual wire::Architecture architecture() const = 0;
  [[nodiscard]] virtual uint16_t elf_machine() const = 0;  // e_machine of its programs
  [[nodiscard]] virtual unsigned word_bytes() const = 0;
  [[nodiscard]] virtual bool is_big_endian() const = 0;
  // Whether these are the registers of a thread that runs this CPU's code (by size, and by mode where a CPU has several).
  [[nodiscard]] virtual bool runs(const RegisterImage& registers) const = 0;

  [[nodiscard]] virtual uint64_t program_counter(const RegisterImage& registers) const = 0;
  [[nodiscard]] virtual uint64_t stack_pointer(const RegisterImage& registers) const = 0;
  [[nodiscard]] virtual uint64_t frame_pointer(const RegisterImage& registers) const = 0;
  [[nodiscard]] virtual uint64_t result(const RegisterImage& registers) const = 0;  // of a function that returns
  virtual void set_result(RegisterImage& registers, uint64_t value) const = 0;
  virtual void set_program_counter(RegisterImage& registers, uint64_t address) const = 0;

  // Breakpoint instruction. No longer than the shortest instruction, and safe to write while other threads run there.
  [[nodiscard]] virtual std::span<const uint8_t> breakpoint() const = 0;
  // Address of the breakpoint at which a thread with these registers has stopped.
  [[nodiscard]] virtual uint64_t breakpoint_address(const RegisterImage& registers) const = 0;

  // `bytes` are the known bytes at `address`; no instruction is longer than kMaxInstructionBytes.
  static constexpr size_t kMaxInstructionBytes = 16;
  [[nodiscard]] virtual Instruction decode(uint64_t address, std::span<const uint8_t> bytes) const = 0;
  // Emulates the instruction at `address`, program counter included. False: not possible, or memory is missing; then
  // registers and memory are unchanged.
  virtual bool emulate(uint64_t address, std::span<const uint8_t> bytes, RegisterImage& registers,
                       TargetMemory& memory) const = 0;

  [[nodiscard]] virtual LinkageStub linkage_stub() const { return {}; }

  // Whether the function's frame can have values below the stack pointer when the program is `at` bytes after its
  // beginning. `function`: its code. True where that isn't known.
  [[nodiscard]] virtual bool may_use_red_zone(std::span<const uint8_t> /*function*/, uint64_t /*at*/) const {
    return true;
  }

  // Valid at a function's first instruction only. False: the stack can't be read.
  virtual bool call_place(const RegisterImage& registers, TargetMemory& memory, CallPlace& place) const = 0;
  virtual bool argument(const RegisterImage& registers, TargetMemory& memory, unsigned index,
                        uint64_t& value) const = 0;
  virtual bool set_argument(RegisterImage& registers, TargetMemory& memory, unsigned index, uint64_t value) const = 0;
  // At a function's return instruction: whether it ends the call with this place.
  [[nodiscard]] virtual bool returns_from(const RegisterImage& registers, const CallPlace& place) const = 0;

  // At the entry of a system call: whether it ends a signal handler (sigreturn), and `resumed_at`, the stack pointer
  // after it.
  virtual bool ends_handler(const RegisterImage& registers, TargetMemory& memory, uint64_t& resumed_at) const = 0;

  // Makes a system call restart that was interrupted by a stop and has had no effect yet. False: nothing to do.
  virtual bool restart_interrupted_call(RegisterImage& registers) const = 0;
  // For a thread stopped for a signal in a system call that begins again unless a handler ends it with EINTR: makes it
  // begin again whatever follows. False: it is in none, or the registers say all that the kernel will ask for.
  virtual bool repeat_call(RegisterImage& /*registers*/, TargetMemory& /*memory*/) const { return false; }
  // Whether the thread is in exit_group. False where that isn't known.
  [[nodiscard]] virtual bool ends_all_threads(const RegisterImage& /*registers*/) const { return false; }
  // System call instruction; empty where calls can't be injected.
  [[nodiscard]] virtual std::span<const uint8_t> system_call_instruction() const { return {}; }
  // Sets the registers of a thread to execute that instruction, at `instruction`, next.
  virtual void set_system_call(RegisterImage& /*registers*/, uint64_t /*instruction*/, uint64_t /*number*/,
                               std::span<const uint64_t, 4> /*arguments*/) const {}
  [[nodiscard]] virtual uint64_t signal_action_call() const { return 0; }  // rt_sigaction's number
  // At the entry or the exit of a system call: whether it is that one.
  virtual bool is_signal_action(const RegisterImage& /*registers*/, SignalActionCall& /*call*/) const { return false; }
  // Whether the system call of this number is clone, or clone3.
  [[nodiscard]] virtual bool is_clone(uint64_t /*system_call*/) const { return false; }
  [[nodiscard]] virtual bool is_clone3(uint64_t /*system_call*/) const { return false; }
  // At the entry of a system call: whether it permits another process to trace this one (prctl's PR_SET_PTRACER).
  [[nodiscard]] virtual bool names_tracer(const RegisterImage& /*registers*/) const { return false; }
  // Whether the system call makes threads or processes. True where that isn't known.
  [[nodiscard]] virtual bool makes_tasks(uint64_t /*system_call*/) const { return true; }

 protected:
  ~Cpu() = default;
};

// Reads a word of the target, in its size and byte order. False: not readable.
inline bool read_word(const Cpu& cpu, TargetMemory& memory, uint64_t address, uint64_t& value) {
  uint8_t bytes[8] = {};
  const unsigned count = cpu.word_bytes();
  if (!memory.read(address, bytes, count)) return false;
  value = 0;
  for (unsigned i = 0; i < count; ++i) value = value << 8 | bytes[cpu.is_big_endian() ? i : count - 1 - i];
  return true;
}

// Null: unsupported CPU.
const Cpu* cpu_of(wire::Architecture architecture);
const Cpu* cpu_of_elf(uint16_t machine, unsigned word_bytes);

// Whether programs of this architecture run on this machine and can be traced by ptrace.
bool is_traced_here(wire::Architecture architecture);
// The CPU whose code a thread of this machine with these registers runs; null: it can't be traced.
const Cpu* cpu_of_registers(const RegisterImage& registers);

}  // namespace heaptap::arch
