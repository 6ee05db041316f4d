// Executes its arguments, behind the first, under a filter of system calls, as a service manager does. The first: what the filter does.
// TRACE none
#define _GNU_SOURCE
#include "target.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
static void install(int call, unsigned verdict) {
  struct sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),  // seccomp_data.nr
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, verdict),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof steps / sizeof *steps, steps};
  REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}
int main(int count, char** arguments) {
  const char* what = arguments[1];
  if (!strcmp(what, "allows-all")) install(-1, SECCOMP_RET_ALLOW);
  if (!strcmp(what, "refuses-clone")) install(SYS_clone, SECCOMP_RET_ERRNO | EPERM);
  if (!strcmp(what, "refuses-socket")) install(SYS_socket, SECCOMP_RET_ERRNO | EACCES);
  if (!strcmp(what, "kills-bind")) install(SYS_bind, SECCOMP_RET_KILL_PROCESS);
  execv(arguments[2], arguments + 2);
  return 127;
}
