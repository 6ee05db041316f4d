// Executes its arguments on a kernel from before Linux 4.14, as it were: it doesn't know MADV_WIPEONFORK.
// TRACE none
#define _GNU_SOURCE
#include "seccomp_filters.h"

#define ADVICE 18  // MADV_WIPEONFORK
int main(int count, char** arguments) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ADVICE, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  install(code, sizeof code, 1);
  execv(arguments[1], arguments + 1);
  return 127;
}
