// A program that is executed under a filter which heaptap isn't under, and which kills at the first socket, ends as it does
// alone. With arguments: what they name is executed under a filter that nothing notices, or, behind "no-links", under one that
// refuses to read links as the agent does it.
// OPTIONS --follow-exec
// EXPECT exit 5
// TRACE any
#define _GNU_SOURCE
#include "seccomp_filters.h"

static void refuse(unsigned call, unsigned action) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, action),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof code / sizeof *code, code};
  REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  REQUIRE(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

int main(int count, char** arguments) {
  if (count > 1 && strcmp(arguments[1], "again") == 0) {
    for (int i = 0; i < 1000; i++) free(keep(malloc(10)));
    say("still there\n");
    return 5;
  }
  if (count > 2 && strcmp(arguments[1], "no-links") == 0) {
    refuse(SYS_readlinkat, SECCOMP_RET_ERRNO | EPERM);
    execvp(arguments[2], arguments + 2);
  } else if (count > 1) {
    refuse(SYS_acct, SECCOMP_RET_ERRNO | EPERM);
    execvp(arguments[1], arguments + 1);
  } else {
    refuse(SYS_socket, SECCOMP_RET_KILL_PROCESS);
    execl("/proc/self/exe", "again", "again", NULL);
  }
  return 99;
}
