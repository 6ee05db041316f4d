// A block that only a thread-local variable of the program holds, of the main thread and of another.
// LINK -pthread
// LEVELS -O2
// RUN main held
// RUN main dropped
// RUN thread held
// RUN thread dropped
#include "leak.h"

#include <pthread.h>
static __thread void* volatile slot;
static void* volatile box;
static char** words;
static void fill_box(void) {
  box = malloc(32);  // LEAK held: reachable 1 32; dropped: definite 1 32
}
NOINLINE static void hold(void) {
  slot = box;
  box = NULL;
  if (said(words, "dropped")) slot = NULL;
}
static void* thread(void* unused) {
  hold();
  forget_registers();
  set_ready();
  wait_for_ever();
  return unused;
}
int main(int count, char** arguments) {
  pthread_t id;
  words = arguments;
  far_below(fill_box);
  if (said(arguments, "main")) {
    hold();
  } else {
    REQUIRE(pthread_create(&id, NULL, thread, NULL) == 0);
    await_ready(1);
  }
  forget_registers();
  return 0;
}
