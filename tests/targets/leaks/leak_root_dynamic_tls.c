// A block that only a thread-local variable holds of a library that was loaded at run time; the loader has allocated it.
// LINK -ldl -pthread
// USES thread_local_memory
// RUN main held
// RUN main dropped
// RUN thread held
// RUN thread dropped
#include "leak.h"

#include <dlfcn.h>
#include <pthread.h>
static void* volatile box;
static char** words;
static char* (*area)(void);
static void fill_box(void) {
  box = malloc(32);  // LEAK held: reachable 1 32; dropped: definite 1 32
}
NOINLINE static void hold(void) {
  void* volatile* slot = (void* volatile*)(((uintptr_t)area() + 50000) & ~(uintptr_t)15);
  *slot = box;
  box = NULL;
  if (said(words, "dropped")) *slot = NULL;
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
  void* library;
  words = arguments;
  OPEN_BESIDE(library, "libthread_local_memory.so");
  area = (char* (*)(void))dlsym(library, "thread_local_area");
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
