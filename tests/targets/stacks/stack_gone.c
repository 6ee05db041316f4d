// A thread whose own stack lies below a context's: the context's stack goes, in each way that memory can go, while the
// thread's last recorded stack is still the one that was there. `own`: the context's stack is a part of the thread's.
// NEEDS x86_64
// RUN freed
// RUN protected
// RUN unmapped_by_number
// RUN mapped_over
// RUN unmapped
// RUN moved
// RUN own_protected
// RUN own_unmapped
// RUN own_unmapped_by_number
// RUN own_mapped_over
// EXPECT stack function=malloc caller=in_context allocations=50 allocated_bytes=1000
// EXPECT stack function=malloc caller=in_thread through=rounds allocations=51 allocated_bytes=510
#define _GNU_SOURCE
#include "first_function.h"
#include "target.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#define STACK_BYTES ((size_t)256 << 10)
#define CONTEXT_BYTES ((size_t)1 << 20)
#define ROUNDS 50
#define IS_OWN (strncmp(way, "own", 3) == 0)
#define TAKES_ITSELF (IS_OWN || is("unmapped") || is("moved"))
static ucontext_t thread_context, other_context;
static char* volatile context_stack;
static const char* way;
static char* region;
static pthread_barrier_t meeting;

NOINLINE static int in_context(int depth) {
  if (depth > 0) return in_context(depth - 1) + 1;
  keep(malloc(20));
  return depth;
}
__attribute__((used, noinline)) void context_round(void) {
  in_context(20);
  swapcontext(&other_context, &thread_context);
}
FIRST_FUNCTION(start, context_round);
static int is(const char* name) { return strcmp(way, name) == 0; }

static void take_away(void) {
  char* stack = context_stack;
  const int fixed = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
  if (is("freed")) free(stack);
  if (is("protected") || is("own_protected")) REQUIRE(mprotect(stack, CONTEXT_BYTES, PROT_NONE) == 0);
  if (is("unmapped_by_number") || is("own_unmapped_by_number")) REQUIRE(syscall(SYS_munmap, stack, CONTEXT_BYTES) == 0);
  if (is("mapped_over") || is("own_mapped_over")) REQUIRE(mmap(stack, CONTEXT_BYTES, PROT_NONE, fixed, -1, 0) == stack);
  if (is("unmapped") || is("own_unmapped")) REQUIRE(munmap(stack, CONTEXT_BYTES) == 0);
  if (is("moved")) REQUIRE(mremap(stack, CONTEXT_BYTES, 2 * CONTEXT_BYTES, MREMAP_MAYMOVE) != MAP_FAILED);
}

NOINLINE static int in_thread(int depth) {
  if (depth > 0) return in_thread(depth - 1) + 1;
  keep(malloc(10));
  return depth;
}

// Above the thread's stack, or in its upper part if `own` isn't null.
static char* make_stack(char* own) {
  if (is("freed")) return malloc(CONTEXT_BYTES);
  char* wanted = own != NULL ? own : region + STACK_BYTES;
  if (is("own_protected")) {
    REQUIRE(mprotect(wanted, CONTEXT_BYTES, PROT_READ | PROT_WRITE) == 0);
    return wanted;
  }
  // What went is nobody's: others may have come to lie there.
  const int went = context_stack != NULL && !is("protected") && !is("mapped_over") && !is("own_mapped_over");
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | (went ? MAP_FIXED_NOREPLACE : MAP_FIXED);
  REQUIRE(mmap(wanted, CONTEXT_BYTES, PROT_READ | PROT_WRITE, flags, -1, 0) == wanted);
  return wanted;
}

NOINLINE static void rounds(char* own) {
  in_thread(100);  // deeper than later
  for (int round = 0; round < ROUNDS; round++) {
    if (round > 0 || context_stack == NULL) context_stack = make_stack(own);
    getcontext(&other_context);
    other_context.uc_stack.ss_sp = context_stack;
    other_context.uc_stack.ss_size = CONTEXT_BYTES;
    makecontext(&other_context, start, 0);
    swapcontext(&thread_context, &other_context);
    if (TAKES_ITSELF) {
      take_away();
    } else {
      pthread_barrier_wait(&meeting);
      pthread_barrier_wait(&meeting);
    }
    in_thread(10);
  }
}
NOINLINE static void rounds_below_part(void) {
  char part[CONTEXT_BYTES + PAGE];  // fills this frame: what is called from here lies below it
  rounds((char*)(((uintptr_t)keep(part) + PAGE - 1) / PAGE * PAGE));
}
static void* thread_body(void* unused) {
  (void)unused;
  keep(malloc(1));
  if (IS_OWN)
    rounds_below_part();
  else
    rounds(NULL);
  return NULL;
}

int main(int count, char** arguments) {
  REQUIRE(count == 2);
  way = arguments[1];
  if (is("freed")) context_stack = malloc(CONTEXT_BYTES);  // what is mapped later lies below it
  const size_t bytes = STACK_BYTES + (IS_OWN ? 2 * CONTEXT_BYTES : 0);
  region = mmap(NULL, STACK_BYTES + 4 * CONTEXT_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(region != MAP_FAILED && mprotect(region, bytes, PROT_READ | PROT_WRITE) == 0);
  pthread_attr_t attributes;
  REQUIRE(pthread_attr_init(&attributes) == 0 && pthread_attr_setstack(&attributes, region, bytes) == 0);
  REQUIRE(pthread_barrier_init(&meeting, NULL, 2) == 0);
  pthread_t thread;
  REQUIRE(pthread_create(&thread, &attributes, thread_body, NULL) == 0);
  for (int round = 0; round < (TAKES_ITSELF ? 0 : ROUNDS); round++) {
    pthread_barrier_wait(&meeting);
    take_away();
    pthread_barrier_wait(&meeting);
  }
  REQUIRE(pthread_join(thread, NULL) == 0);
  say("done\n");
  return 0;
}
