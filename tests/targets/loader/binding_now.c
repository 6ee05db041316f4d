// Calls through the linkage table with -z now, through a pointer, and through dlsym are all seen.
// LINK -Wl,-z,now -ldl
// EXPECT stack function=malloc caller=directly allocations=10 frees=10
// EXPECT stack function=malloc caller=by_pointer allocations=10 frees=10
// EXPECT stack function=malloc caller=by_name allocations=10 frees=10
#define _GNU_SOURCE
#include "target.h"

#include <dlfcn.h>
static void* (*volatile pointer)(size_t) = malloc;
static void (*volatile release)(void*) = free;
NOINLINE void directly(void) { free(keep(malloc(10))); }
NOINLINE void by_pointer(void) { release(keep(pointer(10))); }
NOINLINE void by_name(void) {
  void* (*named)(size_t) = (void* (*)(size_t))dlsym(RTLD_DEFAULT, "malloc");
  void (*named_free)(void*) = (void (*)(void*))dlsym(RTLD_DEFAULT, "free");
  named_free(keep(named(10)));
}
int main(void) {
  for (int i = 0; i < 10; i++) directly(), by_pointer(), by_name();
  say("one malloc: %d\n", (void*)pointer == dlsym(RTLD_DEFAULT, "malloc"));
  return 0;
}
