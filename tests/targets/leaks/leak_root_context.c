// A block that only a variable holds on the stack of a context that isn't running: on the heap, mapped, and in an array.
// RUN heap held
// RUN heap dropped
// RUN mapped held
// RUN mapped dropped
// RUN array held
// RUN array dropped
#include "leak.h"

#include <sys/mman.h>
#include <ucontext.h>
#define SIZE 65536
static void* volatile box;
static void* volatile stack;
static char array[SIZE];
static ucontext_t outside, inside;
static char** words;
static void fill_box(void) {
  box = malloc(32);  // LEAK held: reachable 1 32; dropped: definite 1 32
}
static void body(void) {
  void* volatile local = box;
  box = NULL;
  if (said(words, "dropped")) local = NULL;
  forget_registers();
  swapcontext(&inside, &outside);
  keep(local);
}
NOINLINE static void make_stack(void) {
  stack = array;
  if (said(words, "heap")) stack = malloc(SIZE);  // LEAK heap: reachable 1 65536
  if (said(words, "mapped")) stack = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(stack && stack != MAP_FAILED);
}
int main(int count, char** arguments) {
  words = arguments;
  make_stack();
  far_below(fill_box);
  getcontext(&inside);
  inside.uc_stack.ss_sp = stack;
  inside.uc_stack.ss_size = SIZE;
  makecontext(&inside, body, 0);
  swapcontext(&outside, &inside);
  forget_registers();
  return 0;
}
