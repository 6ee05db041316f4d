// Children and threads made by clone() that have no thread-local memory of libc's end by each way, as browsers' sandboxes do, and
// call what is usual before that.
// NEEDS x86_64
// RUN
// RUN leaves-thread
// EXPECT exit 10
#define _GNU_SOURCE
#include "target.h"

#include <asm/prctl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

// A control block with nothing around it: what lies before it, where thread-local variables would be, can't be read.
static void* make_block(void) {
  char* memory = mmap(NULL, 3 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED && mprotect(memory + PAGE, PAGE, PROT_READ | PROT_WRITE) == 0);
  void** block = (void**)(memory + PAGE);
  block[0] = block[2] = block;
  return block;
}
static int end(void* argument) {
  struct rlimit limit;
  switch ((int)(intptr_t)argument) {
    case 0:
      _exit(10);
    case 1:
      _Exit(11);
    case 2:
      syscall(SYS_exit_group, 12);
      break;
    case 3:
      prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
      _exit(13);
    case 4:
      _exit(getrlimit(RLIMIT_AS, &limit) == 0 ? 14 : 99);
    case 5:
      _exit(setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}) == 0 ? 15 : 99);
    case 6:
      _exit(prlimit(0, RLIMIT_CORE, NULL, &limit) == 0 ? 16 : 99);
    case 7:
      _exit(sigaltstack(NULL, &(stack_t){0}) == 0 ? 17 : 99);
    case 8:
      _exit(sigaction(SIGUSR1, NULL, &(struct sigaction){0}) == 0 ? 18 : 99);
    case 9: {  // a filter that allows all
      struct sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
      struct sock_fprog program = {1, allow};
      if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) _exit(99);
      _exit(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0 ? 19 : 99);
    }
  }
  return 98;
}
#define WAYS 10

int main(int count, char** arguments) {
  (void)arguments;
  static char stack[65536] __attribute__((aligned(16)));
  keep(malloc(100));
  for (int way = 0; way < WAYS; way++) {
    int flags = CLONE_VM | CLONE_VFORK | CLONE_FS | CLONE_SETTLS | SIGCHLD, status = 0;
    int child = clone(end, stack + sizeof stack, flags, (void*)(intptr_t)way, NULL, make_block(), NULL);
    REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
    say("way %d: %x\n", way, status);
  }
  if (count > 1) {  // a thread ends the process
    int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS;
    REQUIRE(clone(end, stack + sizeof stack, flags, (void*)0, NULL, make_block(), NULL) > 0);
    for (;;) pause();
  }
  return 0;
}
