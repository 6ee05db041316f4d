// What a program reads of its signals' dispositions is what it set, also where the agent handles the fatal ones.
#define _GNU_SOURCE
#define _XOPEN_SOURCE 700
#include "target.h"

#include <signal.h>
#include <sys/wait.h>
extern void (*sysv_signal(int, void (*)(int)))(int);
extern void (*ssignal(int, void (*)(int)))(int);
extern void (*sigset(int, void (*)(int)))(int);
static void handler(int number) { (void)number; }
static const char* name_of(void* disposition) {
  if (disposition == (void*)SIG_DFL) return "default";
  if (disposition == (void*)SIG_IGN) return "ignored";
  if (disposition == (void*)SIG_ERR) return "error";
  if (disposition == (void*)handler) return "ours";
  return "foreign";
}
static void show(int number, const char* when) {
  struct sigaction action;
  memset(&action, 0x55, sizeof action);
  errno = 0;
  int status = sigaction(number, NULL, &action);
  say("%d %s: %d %d %s flags %x mask %lx restorer %d\n", number, when, status, errno, name_of((void*)action.sa_handler),
      action.sa_flags, *(unsigned long*)&action.sa_mask, action.sa_restorer != NULL);
}
static void set(int number, void (*to)(int), int flags, int masked) {
  struct sigaction action = {.sa_handler = to, .sa_flags = flags};
  struct sigaction old;
  if (masked) sigaddset(&action.sa_mask, masked);
  int status = sigaction(number, &action, &old);
  say("%d set: %d, was %s %x\n", number, status, name_of((void*)old.sa_handler), old.sa_flags);
  show(number, "now");
}
int main(void) {
  free(keep(malloc(100)));
  for (int number = 0; number <= 65; number++) show(number, "at first");
  for (int number = 1; number <= 64; number++) {
    if (number == SIGKILL || number == SIGSTOP || number == 32 || number == 33) continue;
    set(number, SIG_DFL, SA_RESTART | SA_NODEFER, SIGUSR1);
    set(number, handler, SA_ONSTACK, SIGUSR2);
    set(number, SIG_IGN, 0, 0);
    set(number, SIG_DFL, 0, 0);
    say("%s\n", name_of((void*)signal(number, handler)));
    say("%s\n", name_of((void*)signal(number, SIG_DFL)));
    say("%s\n", name_of((void*)signal(number, SIG_DFL)));
    say("%s\n", name_of((void*)ssignal(number, SIG_IGN)));
    say("%s\n", name_of((void*)sysv_signal(number, SIG_DFL)));
    say("%s\n", name_of((void*)sysv_signal(number, SIG_DFL)));
    say("%s\n", name_of((void*)sigset(number, SIG_DFL)));
    say("%s\n", name_of((void*)sigset(number, handler)));
    say("%s\n", name_of((void*)sigset(number, SIG_DFL)));
    siginterrupt(number, 1);
    show(number, "interrupts");
    struct sigaction same;
    sigaction(number, NULL, &same);
    say("%d\n", sigaction(number, &same, &same));
    show(number, "same");
  }
  return system("kill -TERM $$") == SIGTERM ? 0 : 1;
}
