// Thread-local memory of a library that is loaded late is allocated by the loader, inside the first use in each thread.
// LINK -ldl -pthread
// USES thread_local_memory
// EXPECT stack function=malloc caller=in_thread allocations=20 frees=20
#define _GNU_SOURCE
#include "target.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
static char* (*area)(void);
NOINLINE void* in_thread(void* unused) {
  free(keep(malloc(10)));
  REQUIRE(area()[5] == 1);
  REQUIRE(area()[5] == 2);
  return unused;
}
int main(void) {
  char path[PATH_MAX] = "";
  REQUIRE(readlink("/proc/self/exe", path, sizeof path - 64) > 0);
  strcpy(strrchr(path, '/'), "/libthread_local_memory.so");
  void* library = dlopen(path, RTLD_NOW);
  REQUIRE(library);
  area = (char* (*)(void))dlsym(library, "thread_local_area");
  for (int i = 0; i < 20; i++) {
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, in_thread, NULL) == 0);
    pthread_join(thread, NULL);
  }
  REQUIRE(area()[5] == 1);
  dlclose(library);
  say("done\n");
  return 0;
}
