// Threads live when the program ends, joinable and detached: neither what the library keeps for them nor what they hold is lost.
// LINK -pthread -ldl
// USES thread_local_memory
// CLEAN
// RUN joinable
// RUN detached
#include "leak.h"

#include <dlfcn.h>
#include <pthread.h>
#define THREADS 8
static char* (*area)(void);
static pthread_key_t keys[40];
static void* thread(void* unused) {
  void* volatile mine = malloc(100);
  area();
  pthread_setspecific(keys[39], malloc(50));
  set_ready();
  wait_for_ever();
  return mine;
}
int main(int count, char** arguments) {
  void* library;
  OPEN_BESIDE(library, "libthread_local_memory.so");
  area = (char* (*)(void))dlsym(library, "thread_local_area");
  for (int i = 0; i < 40; i++) pthread_key_create(&keys[i], free);
  for (int i = 0; i < THREADS; i++) {
    pthread_t id;
    REQUIRE(pthread_create(&id, NULL, thread, NULL) == 0);
    if (said(arguments, "detached")) pthread_detach(id);
  }
  await_ready(THREADS);
  forget_registers();
  return 0;
}
