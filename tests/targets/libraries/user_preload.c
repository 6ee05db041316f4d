// A library that the user preloads: it counts malloc and answers getppid.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <unistd.h>
static long calls;
static void* (*real)(size_t);
void* malloc(size_t size) {
  if (!real) real = (void* (*)(size_t))dlsym(RTLD_NEXT, "malloc");
  calls++;
  return real(size);
}
pid_t getppid(void) { return 4242; }
long user_preload_calls(void) { return calls; }
