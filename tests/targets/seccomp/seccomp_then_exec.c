// A launcher installs a filter that kills for what its program doesn't need, and executes it: with the agent in it, too, it asks
// the kernel for nothing of that.
// OPTIONS -e
// TRACE any
// EXPECT exit 5
#define _GNU_SOURCE
#include "target.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define KILL(number) \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

int main(int count, char** arguments) {
  if (count > 1) return 5;
  struct sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
      KILL(SYS_madvise),
      KILL(SYS_socket),
      KILL(SYS_connect),
      KILL(SYS_rt_sigprocmask),
      KILL(SYS_rt_sigaction),
      KILL(SYS_getpid),
      KILL(SYS_gettid),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof steps / sizeof steps[0], steps};
  REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  REQUIRE(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0);
  execl("/proc/self/exe", arguments[0], "again", (char*)NULL);
  return 99;
}
