// A thread runs on a stack that the program gave it, and a variable there holds a block.
// LINK -pthread
// RUN heap held
// RUN heap dropped
// RUN mapped held
// RUN mapped dropped
// RUN array held
// RUN array dropped
#include "leak.h"

#include <pthread.h>
#include <sys/mman.h>
#define SIZE ((size_t)256 << 10)
static void* volatile box;
static void* stack;
static char array[SIZE] __attribute__((aligned(4096)));
static char** words;
static void fill_box(void) {
  box = malloc(32);  // LEAK held: reachable 1 32; dropped: definite 1 32
}
NOINLINE static void make_stack(void) {
  stack = array;
  if (said(words, "heap")) stack = aligned_alloc(4096, SIZE);  // LEAK heap: reachable 1 262144
  if (said(words, "mapped")) stack = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(stack && stack != MAP_FAILED);
}
static void* thread(void* unused) {
  void* volatile local = box;
  box = NULL;
  if (said(words, "dropped")) local = NULL;
  forget_registers();
  set_ready();
  wait_for_ever();
  return local;
}
int main(int count, char** arguments) {
  pthread_t id;
  pthread_attr_t attributes;
  words = arguments;
  make_stack();
  far_below(fill_box);
  REQUIRE(pthread_attr_init(&attributes) == 0 && pthread_attr_setstack(&attributes, stack, SIZE) == 0);
  REQUIRE(pthread_create(&id, &attributes, thread, NULL) == 0);
  await_ready(1);
  forget_registers();
  return 0;
}
