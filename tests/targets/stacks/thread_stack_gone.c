// A thread that went over to a context for good, and whose own stack was unmapped then, but for the top with its thread-local
// memory. The context's frame pointers lead there still.
// EXPECT stack function=malloc caller=in_context allocations=100 allocated_bytes=1000
// EXPECT stack function=malloc caller=in_thread through=deep allocations=1 allocated_bytes=20
#define _GNU_SOURCE
#include "target.h"

#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>
#define STACK_BYTES ((size_t)1 << 20)
#define TOP_BYTES ((size_t)128 << 10)
static pthread_barrier_t meeting;
static char context_stack[65536];

NOINLINE static void in_context(void) { keep(malloc(10)); }
static void context_body(void) {
  in_context();
  pthread_barrier_wait(&meeting);
  pthread_barrier_wait(&meeting);
  for (int i = 1; i < 100; i++) in_context();
  pthread_barrier_wait(&meeting);
  for (;;) pause();
}
NOINLINE static void in_thread(void) { keep(malloc(20)); }
NOINLINE static void go_over(void) {
  in_thread();
  static ucontext_t context;
  getcontext(&context);
  context.uc_stack.ss_sp = context_stack;
  context.uc_stack.ss_size = sizeof context_stack;
  makecontext(&context, context_body, 0);
  setcontext(&context);
}
NOINLINE static void deep(void) {
  char room[3 * TOP_BYTES];
  keep(room);
  go_over();
}
static void* thread_body(void* unused) {
  deep();
  return unused;
}
int main(void) {
  char* stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(stack != MAP_FAILED);
  pthread_attr_t attributes;
  REQUIRE(pthread_attr_init(&attributes) == 0 && pthread_attr_setstack(&attributes, stack, STACK_BYTES) == 0);
  REQUIRE(pthread_barrier_init(&meeting, NULL, 2) == 0);
  pthread_t thread;
  REQUIRE(pthread_create(&thread, &attributes, thread_body, NULL) == 0);
  pthread_barrier_wait(&meeting);
  REQUIRE(munmap(stack, STACK_BYTES - TOP_BYTES) == 0);
  pthread_barrier_wait(&meeting);
  pthread_barrier_wait(&meeting);
  say("done\n");
  return 0;
}
