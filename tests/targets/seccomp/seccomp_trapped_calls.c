// A filter that sends SIGSYS for each call that isn't the program's own: its handler counts as many as without heaptap, also
// where the first event, or a new thread's, comes behind it.
// RUN first
// RUN later
// EXPECT stack function=malloc caller=allocate allocations=1000
#define _GNU_SOURCE
#include "seccomp_filters.h"

#include <signal.h>
static volatile int g_trapped;
static void on_trap(int number, siginfo_t* info, void* context) {
  (void)number;
  (void)info;
  (void)context;
  g_trapped++;
}
NOINLINE void allocate(void) {
  for (int i = 0; i < 1000; i++) free(keep(malloc((size_t)i)));
}
int main(int count, char** arguments) {
  (void)count;
  struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
  REQUIRE(sigaction(SIGSYS, &action, NULL) == 0);
  if (strcmp(arguments[1], "later") == 0) free(keep(malloc(1)));
  install_filter(SECCOMP_RET_TRAP);
  allocate();
  say("trapped: %d\n", g_trapped);
  syscall(SYS_getppid);
  say("trapped: %d\n", g_trapped);
  return 0;
}
