// A block that only pthread_setspecific's value holds: of the first keys, which lie in the thread's own memory, and of later
// ones, for which the library allocates.
// LINK -pthread
// RUN main first held
// RUN main first dropped
// RUN main later held
// RUN main later dropped
// RUN thread first held
// RUN thread first dropped
// RUN thread later held
// RUN thread later dropped
#include "leak.h"

#include <pthread.h>
static void* volatile box;
static char** words;
static pthread_key_t key;
static void fill_box(void) {
  box = malloc(32);  // LEAK held: reachable 1 32; dropped: definite 1 32
}
NOINLINE static void hold(void) {
  REQUIRE(pthread_setspecific(key, box) == 0);
  box = NULL;
  if (said(words, "dropped")) pthread_setspecific(key, NULL);
}
static void* thread(void* unused) {
  far_below(hold);
  forget_registers();
  set_ready();
  wait_for_ever();
  return unused;
}
int main(int count, char** arguments) {
  pthread_t id;
  words = arguments;
  for (int i = 0; i < (said(arguments, "first") ? 1 : 100); i++) REQUIRE(pthread_key_create(&key, NULL) == 0);
  far_below(fill_box);
  if (said(arguments, "main")) {
    far_below(hold);
  } else {
    REQUIRE(pthread_create(&id, NULL, thread, NULL) == 0);
    await_ready(1);
  }
  forget_registers();
  return 0;
}
