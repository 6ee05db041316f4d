// The program's own malloc and free go on in other code by a jump, and two threads are in there at once. The first one to come
// back finds an instruction that nobody can execute in its place, the second one comes back later: both are seen.
// NEEDS x86_64
// COMPILE -O1 -pthread
// LINK -pthread
// OPTIONS --via ptrace
// EXPECT exit 0
// EXPECT totals.unknown_frees == 0
// EXPECT totals.bad_frees == 0
// RUN malloc
// EXPECT stack function=malloc caller=call_and_swap allocations=2 allocated_bytes=200
// EXPECT stack function=malloc caller=stop_once allocations=1
// RUN free
// EXPECT stack function=malloc caller=main allocations=2 frees=2
// EXPECT stack function=malloc caller=stop_once allocations=1
#include "target.h"

#include <pthread.h>
#include <semaphore.h>

static char area[1 << 16];
static _Atomic size_t used;
static __thread int number;  // of the thread that meets the other one; 0: it meets nobody
static pthread_barrier_t both_inside;
static sem_t first_stopped;
static void meet(void) {
  if (number == 0) return;
  pthread_barrier_wait(&both_inside);
  if (number == 2) sem_wait(&first_stopped);
}
void* allocate_elsewhere(size_t size) {
  meet();
  return area + (used += (size + 15) & ~(size_t)15);
}
void release_elsewhere(void* block) {
  (void)block;
  meet();
}
void* (*allocates)(size_t) = allocate_elsewhere;
void (*releases)(void*) = release_elsewhere;
int swapped;
void* call_and_swap(void* argument, void* function);
__asm__(
    ".text\n.globl malloc\n.type malloc, @function\nmalloc:\n.cfi_startproc\n"
    "  jmp *allocates(%rip)\n.cfi_endproc\n.size malloc, . - malloc\n"
    ".globl free\n.type free, @function\nfree:\n.cfi_startproc\n"
    "  jmp *releases(%rip)\n.cfi_endproc\n.size free, . - free\n"
    ".globl call_and_swap\n.type call_and_swap, @function\ncall_and_swap:\n.cfi_startproc\n"
    "  sub $8, %rsp\n  .cfi_def_cfa_offset 16\n"
    "  call *%rsi\n"
    "  xchg %ecx, swapped(%rip)\n"  // atomic: only the processor can
    "  add $8, %rsp\n  .cfi_def_cfa_offset 8\n"
    "  ret\n.cfi_endproc\n.size call_and_swap, . - call_and_swap\n");
void* calloc(size_t count, size_t size) { return allocate_elsewhere(count * size); }
void* realloc(void* block, size_t size) {
  void* other = allocate_elsewhere(size);
  if (block && other) memmove(other, block, size);
  return other;
}
NOINLINE void stop_once(void) { keep(malloc(8)); }
static void* function;
static void* work(void* argument) {
  static void* volatile results[3];
  static _Atomic int count;
  number = ++count;
  int own = number;
  results[own] = call_and_swap(argument, function);
  number = 0;
  if (own == 1) {
    stop_once();
    sem_post(&first_stopped);
  }
  return NULL;
}
int main(int count, char** arguments) {
  REQUIRE(count == 2);
  const int frees = strcmp(arguments[1], "free") == 0;
  function = frees ? (void*)free : (void*)malloc;
  pthread_barrier_init(&both_inside, NULL, 2);
  sem_init(&first_stopped, 0, 0);
  void* given[2] = {(void*)100, (void*)100};
  for (int i = 0; i < 2 && frees; i++) given[i] = keep(malloc(100));
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) REQUIRE(pthread_create(&threads[i], NULL, work, given[i]) == 0);
  for (int i = 0; i < 2; i++) REQUIRE(pthread_join(threads[i], NULL) == 0);
  return 0;
}
