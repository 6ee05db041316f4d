// Sources: System V ABI AMD64, 3.2.3 (arguments); Linux arch/x86/include/asm/user_64.h (user_regs_struct).
#include "common/arch/x86_64/cpu.h"

#include <elf.h>

#include "common/arch/x86/common_cpu.h"
#include "common/arch/x86_64/registers.h"
#include "common/arch/x86_64/thread_registers.h"

namespace heaptap::arch::x86_64 {
namespace {

constexpr uint8_t kGsBase = 22;
constexpr uint8_t kArguments[] = {14, 13, 12, 11, 9, 8};  // rdi, rsi, rdx, rcx, r8, r9
constexpr unsigned kInRegisters = sizeof(kArguments);
constexpr x86::ImageLayout kLayout = {
    .word_bytes = 8,
    .words = kUserRegisterCount,
    .general_count = 16,
    .general = {kUserResult, 11, 12, 5, kUserStackPointer, kUserFramePointer, 13, 14, 9, 8, 7, 6, 3, 2, 1, 0},
    .program_counter = kUserProgramCounter,
    .flags = 18,
    .code_segment = kUserCodeSegment,
    .user_code_segments = {0x33, 0x33},
    .system_call = kUserSystemCall,
};

class Amd64Cpu final : public x86::CommonCpu {
 public:
  constexpr Amd64Cpu() : CommonCpu(x86::Mode::k64, kLayout) {}

  wire::Architecture architecture() const override { return wire::Architecture::kX86_64; }
  uint16_t elf_machine() const override { return EM_X86_64; }

  bool argument(const RegisterImage& registers, TargetMemory& memory, unsigned index, uint64_t& value) const override {
    if (index >= kInRegisters) return stack_argument(registers, memory, index - kInRegisters, value);
    value = word(registers, kArguments[index]);
    return true;
  }

  bool set_argument(RegisterImage& registers, TargetMemory& memory, unsigned index, uint64_t value) const override {
    if (index >= kInRegisters) return set_stack_argument(registers, memory, index - kInRegisters, value);
    set_word(registers, kArguments[index], value);
    return true;
  }

  // The signal frame is at SP when its trampoline runs.
  bool ends_handler(const RegisterImage& registers, TargetMemory& memory, uint64_t& resumed_at) const override {
    constexpr uint64_t kSigreturn = 15;
    return runs(registers) && word(registers, kUserSystemCall) == kSigreturn &&
           stack_word(memory, stack_pointer(registers) + Unwinding::kSignalStackPointer, resumed_at);
  }

 private:
  bool add_segments(const RegisterImage& registers, x86::MachineState& state) const override {
    state.fs_base = word(registers, kUserThreadPointer);
    state.gs_base = word(registers, kGsBase);
    return true;
  }

  bool does_nothing_when_interrupted(uint64_t system_call) const override {
    return x86_64::does_nothing_when_interrupted(system_call);
  }
};

constexpr Amd64Cpu kCpu;

}  // namespace

const Cpu& cpu() { return kCpu; }

}  // namespace heaptap::arch::x86_64
