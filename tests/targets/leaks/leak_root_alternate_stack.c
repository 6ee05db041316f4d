// A block that only a variable of a signal handler holds that runs on an alternate stack; when the handler is through, no more.
// LINK -pthread
// RUN mapped held
// RUN mapped dropped
// RUN heap held
// RUN heap dropped
#define _GNU_SOURCE
#include "leak.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#define SIZE 65536
static void* volatile box;
static void* volatile stack;
static char** words;
static void fill_box(void) {
  box = malloc(32);  // LEAK held: reachable 1 32; dropped: definite 1 32
}
static void handler(int number) {
  void* volatile local = box;
  box = NULL;
  if (said(words, "dropped")) local = NULL;
  forget_registers();
  set_ready();
  wait_for_ever();
  keep(local);
}
NOINLINE static void make_stack(void) {
  if (said(words, "heap"))
    stack = malloc(SIZE);  // LEAK heap: reachable 1 65536
  else
    stack = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(stack && stack != MAP_FAILED);
}
static void* thread(void* unused) {
  stack_t alternate = {.ss_sp = stack, .ss_size = SIZE};
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
  REQUIRE(sigaltstack(&alternate, NULL) == 0 && sigaction(SIGUSR1, &action, NULL) == 0);
  raise(SIGUSR1);
  return unused;
}
int main(int count, char** arguments) {
  pthread_t id;
  words = arguments;
  make_stack();
  far_below(fill_box);
  REQUIRE(pthread_create(&id, NULL, thread, NULL) == 0);
  await_ready(1);
  forget_registers();
  return 0;
}
