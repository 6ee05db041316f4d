// Another thread ends the program while main waits: main's variables hold, and nothing below them does.
// LINK -pthread
// LEVELS -O2
// RUN held
// RUN dropped
#include "leak.h"

#include <pthread.h>
static void* volatile box;
static void fill_box(void) {
  box = malloc(32);  // LEAK held: reachable 1 32; dropped: definite 1 32
}
static void* thread(void* unused) {
  await_ready(1);
  exit(0);
}
int main(int count, char** arguments) {
  pthread_t id;
  far_below(fill_box);
  void* volatile local = box;
  box = NULL;
  if (said(arguments, "dropped")) local = NULL;
  forget_registers();
  REQUIRE(pthread_create(&id, NULL, thread, NULL) == 0);
  set_ready();
  pthread_join(id, NULL);
  return keep(local) == NULL;
}
