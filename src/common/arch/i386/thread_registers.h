// Registers of a stopped i386 thread as given by ptrace, and its restartable system calls. Sources: Linux
// arch/x86/include/asm/user_32.h (user_regs_struct), arch/x86/entry/syscalls/syscall_32.tbl.
#pragma once
#include <stdint.h>

namespace heaptap::arch::i386 {

// Indices into user_regs_struct.
enum UserRegister : uint8_t {
  kUserFramePointer = 5,
  kUserResult = 6,  // eax
  kUserDataSegment = 7,
  kUserSystemCall = 11,  // orig_eax
  kUserProgramCounter = 12,
  kUserCodeSegment = 13,
  kUserFlags = 14,
  kUserStackPointer = 15,
  kUserStackSegment = 16,
  kUserRegisterCount = 17,
};

// As in x86_64: calls that fail with EINTR when a stop interrupts them, without any effect.
constexpr bool does_nothing_when_interrupted(uint64_t number) {
  constexpr uint16_t kNumbers[] = {
      3,   4,   168, 180,
      181, 145, 146,  // read, write, poll, pread64, pwrite64, readv, writev
      82,  142, 102, 117,
      55,  221, 143,  // select, _newselect, socketcall, ipc, fcntl, fcntl64, flock
      177, 240, 247, 256,
      267, 279, 280,  // rt_sigtimedwait, futex, io_getevents, epoll_wait, clock_nanosleep, mq_timed…
      308, 309, 319, 333,
      334, 337, 345,  // pselect6, ppoll, epoll_pwait, preadv, pwritev, recvmmsg, sendmmsg
      355, 362, 364, 369,
      370, 371, 372,  // getrandom, connect, accept4, sendto, sendmsg, recvfrom, recvmsg
      385, 400, 401,  // io_pgetevents, msgsnd, msgrcv
      407, 413, 414, 416,
      417, 418, 419,  // with 64-bit times: clock_nanosleep, pselect6, ppoll, io_pgetevents, recvmmsg, mq_timed…
      420, 421, 422,  // the same: semtimedop, rt_sigtimedwait, futex
      426, 441, 449,  // io_uring_enter, epoll_pwait2, futex_waitv
  };
  for (const uint16_t known : kNumbers) {
    if (known == number) return true;
  }
  return false;
}

}  // namespace heaptap::arch::i386
