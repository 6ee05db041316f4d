// Two threads with small stacks run fibers in turns: each one's are ended and unmapped by the other one. The fibers' stacks lie
// above the threads', and each comes to lie where another one was.
// NEEDS x86_64
// RUN 5000
// EXPECT stack function=malloc caller=in_fiber through=start allocations=19999
// EXPECT stack function=malloc caller=in_thread through=run_fibers allocations=29999
// RUN-LONG 500000
#define _GNU_SOURCE
#include "first_function.h"
#include "target.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#define STACK_BYTES ((size_t)48 << 10)
#define PLACES 8
struct Fiber {
  ucontext_t inside;
  ucontext_t outside;
  char* stack;
};
static _Atomic(struct Fiber*) handed;
static _Atomic(char*) free_places[PLACES];
static __thread struct Fiber* running;
static pthread_barrier_t begun;
static int rounds;

NOINLINE static int in_fiber(int depth) {
  if (depth > 0) return in_fiber(depth - 1) + 1;
  keep(malloc(20));
  return depth;
}
__attribute__((used, noinline)) void fiber_round(void) {
  struct Fiber* self = running;
  in_fiber(3);
  swapcontext(&self->inside, &self->outside);
  in_fiber(9);
  setcontext(&self->outside);
}
FIRST_FUNCTION(start, fiber_round);

static char* take_place(void) {
  for (;;) {
    for (int i = 0; i < PLACES; i++) {
      char* place = atomic_exchange(&free_places[i], NULL);
      if (place != NULL) return place;
    }
  }
}
static void give_place(char* place) {
  for (int i = 0; i < PLACES; i++) {
    char* none = NULL;
    if (atomic_compare_exchange_strong(&free_places[i], &none, place)) return;
  }
  REQUIRE(!"room for all places");
}
static void begin(struct Fiber* self) {
  self->stack = take_place();
  // There, if nothing else is there by now.
  self->stack = mmap(self->stack, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(self->stack != MAP_FAILED);
  getcontext(&self->inside);
  self->inside.uc_stack.ss_sp = self->stack;
  self->inside.uc_stack.ss_size = STACK_BYTES;
  makecontext(&self->inside, start, 0);
  running = self;
  swapcontext(&self->outside, &self->inside);
}
NOINLINE static int in_thread(int depth) {
  if (depth > 0) return in_thread(depth - 1) + 1;
  keep(malloc(10));
  return depth;
}
NOINLINE static void* run_fibers(void* unused) {
  pthread_barrier_wait(&begun);
  for (int i = 0; i < rounds; i++) {
    struct Fiber* made = malloc(sizeof *made);
    in_thread(9);
    begin(made);
    in_thread(i % 5);
    struct Fiber* taken = atomic_exchange(&handed, made);
    if (taken == NULL) continue;
    swapcontext(&taken->outside, &taken->inside);
    const int by_number = i % 2 == 0;
    REQUIRE((by_number ? (int)syscall(SYS_munmap, taken->stack, STACK_BYTES) : munmap(taken->stack, STACK_BYTES)) == 0);
    give_place(taken->stack);
    in_thread(i % 3);
    free(taken);
  }
  return unused;
}
int main(int count, char** arguments) {
  REQUIRE(count == 2);
  rounds = atoi(arguments[1]);
  // What is mapped while this is there lies below it: the threads' stacks.
  char* places = mmap(NULL, PLACES * STACK_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(places != MAP_FAILED);
  pthread_attr_t attributes;
  REQUIRE(pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, 65536) == 0);
  REQUIRE(pthread_barrier_init(&begun, NULL, 3) == 0);
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) REQUIRE(pthread_create(&threads[i], &attributes, run_fibers, NULL) == 0);
  for (int i = 0; i < PLACES; i++) free_places[i] = places + (size_t)i * STACK_BYTES;
  REQUIRE(munmap(places, PLACES * STACK_BYTES) == 0);
  pthread_barrier_wait(&begun);
  for (int i = 0; i < 2; i++) REQUIRE(pthread_join(threads[i], NULL) == 0);
  say("done\n");
  return 0;
}
