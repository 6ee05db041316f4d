// Registers of a stopped x86-64 thread as given by ptrace, and its restartable system calls. Sources: Linux
// arch/x86/include/asm/user_64.h (user_regs_struct), arch/x86/entry/syscalls/syscall_64.tbl.
#pragma once
#include <stdint.h>

namespace heaptap::arch::x86_64 {

// Indices into user_regs_struct.
enum UserRegister : uint8_t {
  kUserFramePointer = 4,
  kUserResult = 10,      // rax
  kUserSystemCall = 15,  // orig_rax: number of the system call that the thread returns from, or negative
  kUserProgramCounter = 16,
  kUserCodeSegment = 17,
  kUserStackPointer = 19,
  kUserThreadPointer = 21,  // fs_base
  kUserRegisterCount = 27,
};

// System calls that fail with EINTR when a stop interrupts them, without any effect. (The kernel restarts others by
// itself. Excluded: close and others that have taken effect when they return EINTR.)
constexpr bool does_nothing_when_interrupted(uint64_t number) {
  constexpr uint16_t kNumbers[] = {
      0,   1,   7,                       // read, write, poll
      17,  18,  19,  20,                 // pread64, pwrite64, readv, writev
      23,  42,  43,  44,  45,  46,  47,  // select, connect, accept, sendto, recvfrom, sendmsg, recvmsg
      65,  69,  70,  72,  73,            // semop, msgsnd, msgrcv, fcntl, flock
      128, 202, 208, 220, 230, 232,  // rt_sigtimedwait, futex, io_getevents, semtimedop, clock_nanosleep, epoll_wait
      242, 243, 270, 271, 281, 288,  // mq_timedsend, mq_timedreceive, pselect6, ppoll, epoll_pwait, accept4
      295, 296, 299, 307, 318, 333,  // preadv, pwritev, recvmmsg, sendmmsg, getrandom, io_pgetevents
      426, 441, 449,                 // io_uring_enter, epoll_pwait2, futex_waitv
  };
  for (const uint16_t known : kNumbers) {
    if (known == number) return true;
  }
  return false;
}

}  // namespace heaptap::arch::x86_64
