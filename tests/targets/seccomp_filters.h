// Filters of system calls, and strict mode, for the programs that have them.
#pragma once
#include "target.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define ALLOW(name) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

// What a program needs that allocates, writes and ends, and more that is allowed; everything else gets `action`.
#define FILTER(action, ...)                                                  \
  {                                                                          \
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)), \
      ALLOW(read),                                                           \
      ALLOW(write),                                                          \
      ALLOW(exit),                                                           \
      ALLOW(exit_group),                                                     \
      ALLOW(brk),                                                            \
      __VA_ARGS__,                                                           \
      BPF_STMT(BPF_RET | BPF_K, action),                                     \
  }

__attribute__((unused)) static void install(struct sock_filter* code, size_t bytes, int by_prctl) {
  struct sock_fprog program = {bytes / sizeof *code, code};
  REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  REQUIRE((by_prctl ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)
                    : syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program)) == 0);
}

__attribute__((unused)) static void install_filter(unsigned action) {
  struct sock_filter code[] = FILTER(action, ALLOW(rt_sigreturn));
  install(code, sizeof code, 1);
}

__attribute__((unused)) static void enter_strict_mode(void) {
  free(keep(malloc(200000)));  // the heap has grown as far as it needs to
  REQUIRE(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
}

// exit_group is too much for strict mode.
__attribute__((unused)) static void end_thread(int status) { syscall(SYS_exit, status); }
