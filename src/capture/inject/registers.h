// Registers of a thread that makes a system call or runs a function for the injector. x86-64: on other CPUs these do nothing, and nothing
// is injected there.
#pragma once
#include <sys/user.h>

#include <array>
#include <cstdint>
#include <cstring>

#include "common/arch/cpu.h"

namespace heaptap::inject {

#ifdef __x86_64__

template <typename Change>
void change(arch::RegisterImage& image, const Change& make) {
  user_regs_struct registers{};
  std::memcpy(&registers, image.bytes, sizeof(registers));
  registers.orig_rax = static_cast<unsigned long long>(-1);  // it is in no system call
  make(registers);
  std::memcpy(image.bytes, &registers, sizeof(registers));
}

// `stack`: where the return behind the call's instruction finds its address.
inline void set_call(arch::RegisterImage& image, uint64_t instruction, uint64_t stack, uint64_t number,
                     const std::array<uint64_t, 6>& arguments) {
  change(image, [&](user_regs_struct& registers) {
    registers.rip = instruction;
    registers.rsp = stack;
    registers.rax = number;
    registers.rdi = arguments[0];
    registers.rsi = arguments[1];
    registers.rdx = arguments[2];
    registers.r10 = arguments[3];
    registers.r8 = arguments[4];
    registers.r9 = arguments[5];
  });
}

// It may end in the return from the signal frame at `frame`; see heaptap_injected_enter.
inline void set_function(arch::RegisterImage& image, uint64_t function, uint64_t stack_top, uint64_t frame) {
  constexpr uint64_t kTrapFlag = 0x100;
  change(image, [&](user_regs_struct& registers) {
    registers.rip = function;
    registers.rsp = stack_top & ~uint64_t{15};
    registers.rbp = 0;
    registers.rbx = frame + sizeof(uint64_t);
    registers.eflags &= ~kTrapFlag;
  });
}

inline uint64_t result_of(const arch::RegisterImage& image) {
  user_regs_struct registers{};
  std::memcpy(&registers, image.bytes, sizeof(registers));
  return registers.rax;
}

#else

inline void set_call(arch::RegisterImage&, uint64_t, uint64_t, uint64_t, const std::array<uint64_t, 6>&) {}
inline void set_function(arch::RegisterImage&, uint64_t, uint64_t, uint64_t) {}
inline uint64_t result_of(const arch::RegisterImage&) { return 0; }

#endif

}  // namespace heaptap::inject
