// Threads come and go, some with thread-local and thread-specific memory; none of it is lost.
// LINK -pthread -ldl
// USES thread_local_memory
// CLEAN
#include "leak.h"

#include <dlfcn.h>
#include <pthread.h>
static char* (*area)(void);
static pthread_key_t key;
static void* thread(void* number) {
  void* volatile mine = malloc(100);
  if ((uintptr_t)number % 3 == 0) area();
  if ((uintptr_t)number % 3 == 1) pthread_setspecific(key, malloc(50));
  free(mine);
  return number;
}
int main(void) {
  void* library;
  OPEN_BESIDE(library, "libthread_local_memory.so");
  area = (char* (*)(void))dlsym(library, "thread_local_area");
  pthread_key_create(&key, free);
  for (uintptr_t round = 0; round < 200; round++) {
    pthread_t ids[3];
    for (int i = 0; i < 3; i++) REQUIRE(pthread_create(&ids[i], NULL, thread, (void*)(round + i)) == 0);
    for (int i = 0; i < 3; i++) pthread_join(ids[i], NULL);
  }
  forget_registers();
  return 0;
}
