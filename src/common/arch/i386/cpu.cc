// Sources: System V ABI Intel386, 2.2.3 (arguments); Linux arch/x86/include/asm/segment.h (segments of user space).
#include "common/arch/i386/cpu.h"

#include <elf.h>

#include "common/arch/i386/registers.h"
#include "common/arch/i386/thread_registers.h"
#include "common/arch/x86/common_cpu.h"

namespace heaptap::arch::i386 {
namespace {

constexpr x86::ImageLayout kLayout = {
    .word_bytes = 4,
    .words = kUserRegisterCount,
    .general_count = 8,
    .general = {kUserResult, 1, 2, 0, kUserStackPointer, kUserFramePointer, 3, 4},
    .program_counter = kUserProgramCounter,
    .flags = kUserFlags,
    .code_segment = kUserCodeSegment,
    .user_code_segments = {0x23, 0x73},
    .system_call = kUserSystemCall,
};

class I386Cpu final : public x86::CommonCpu {
 public:
  constexpr I386Cpu() : CommonCpu(x86::Mode::k32, kLayout) {}

  wire::Architecture architecture() const override { return wire::Architecture::kI386; }
  uint16_t elf_machine() const override { return EM_386; }

  bool argument(const RegisterImage& registers, TargetMemory& memory, unsigned index, uint64_t& value) const override {
    return stack_argument(registers, memory, index, value);
  }

  bool set_argument(RegisterImage& registers, TargetMemory& memory, unsigned index, uint64_t value) const override {
    return set_stack_argument(registers, memory, index, value);
  }

  // The trampoline of the plain kind has popped a word when it makes the call.
  bool ends_handler(const RegisterImage& registers, TargetMemory& memory, uint64_t& resumed_at) const override {
    constexpr uint64_t kPlainSigreturn = 119;
    constexpr uint64_t kSigreturn = 173;
    const uint64_t number = word(registers, kUserSystemCall);
    if (!runs(registers) || (number != kPlainSigreturn && number != kSigreturn)) return false;
    const uint64_t offset =
        number == kSigreturn ? Unwinding::kSignalStackPointer : Unwinding::kPlainSignalStackPointer - word_bytes();
    return stack_word(memory, x86::low_bytes(stack_pointer(registers) + offset, word_bytes()), resumed_at);
  }

 private:
  // Segments made by the program may have any base.
  bool add_segments(const RegisterImage& registers, x86::MachineState&) const override {
    const auto is_flat = [&](unsigned index) {
      const uint64_t segment = word(registers, index) & 0xffff;
      return segment == 0x2b || segment == 0x7b;  // on a 64-bit kernel, on a 32-bit one
    };
    return is_flat(kUserDataSegment) && is_flat(kUserStackSegment);
  }

  bool does_nothing_when_interrupted(uint64_t system_call) const override {
    return i386::does_nothing_when_interrupted(system_call);
  }
};

constexpr I386Cpu kCpu;

}  // namespace

const Cpu& cpu() { return kCpu; }

}  // namespace heaptap::arch::i386
