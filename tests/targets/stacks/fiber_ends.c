// The usual life of fibers, in a thread with a small stack: who goes on unmaps the stack of the one that ended. Their stacks
// come to lie beside the thread's, with and without guards between.
// RUN 32
// RUN 64
// RUN 128
// EXPECT stack function=malloc caller=in_fiber allocations=1000 allocated_bytes=20000
// EXPECT stack function=malloc caller=in_thread through=run_fibers allocations=334 allocated_bytes=3340
#define _GNU_SOURCE
#include "target.h"

#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>
#define FIBERS 1000
static ucontext_t outside;
static size_t stack_bytes;
static int number;     // of the fiber that runs, from 1 on
static char* running;  // its stack
static char* ended;    // the stack of the one before, until somebody else runs

static void start_next(ucontext_t* from);
static void bury(void) {
  if (ended != NULL) REQUIRE(munmap(ended, stack_bytes) == 0);
  ended = NULL;
}
NOINLINE static int in_fiber(int depth) {
  if (depth > 0) return in_fiber(depth - 1) + 1;
  keep(malloc(20));
  return depth;
}
static void fiber(void) {
  bury();
  in_fiber(number % 7);
  ended = running;
  if (number % 3 != 1 && number < FIBERS) start_next(NULL);
  setcontext(&outside);
}
static void start_next(ucontext_t* from) {
  const size_t guard = ++number % 2 != 0 ? PAGE : 0;
  running = mmap(NULL, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  REQUIRE(running != MAP_FAILED && (guard == 0 || mprotect(running, guard, PROT_NONE) == 0));
  static ucontext_t next;
  getcontext(&next);
  next.uc_stack.ss_sp = running + guard;
  next.uc_stack.ss_size = stack_bytes - guard;
  makecontext(&next, fiber, 0);
  if (from != NULL)
    swapcontext(from, &next);
  else
    setcontext(&next);
}
NOINLINE static void in_thread(void) { keep(malloc(10)); }
NOINLINE static void* run_fibers(void* unused) {
  while (number < FIBERS) {
    in_thread();
    start_next(&outside);
    bury();
  }
  return unused;
}
int main(int count, char** arguments) {
  REQUIRE(count == 2);
  stack_bytes = (size_t)atoi(arguments[1]) << 10;
  pthread_attr_t attributes;
  REQUIRE(pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, 65536) == 0);
  pthread_t thread;
  REQUIRE(pthread_create(&thread, &attributes, run_fibers, NULL) == 0 && pthread_join(thread, NULL) == 0);
  say("done\n");
  return 0;
}
