// A program has a dl_iterate_phdr of its own, which allocates, and isn't ready before main.
// LINK -rdynamic -ldl
// EXPECT stack function=malloc caller=in_main allocations=10
// EXPECT stack function=calloc caller=dl_iterate_phdr allocations=1 frees=1
#define _GNU_SOURCE
#include "target.h"

#include <dlfcn.h>
#include <link.h>

static int ready;
int dl_iterate_phdr(int (*visit)(struct dl_phdr_info*, size_t, void*), void* context) {
  if (!ready) abort();
  int (*next)(int (*)(struct dl_phdr_info*, size_t, void*), void*) = dlsym(RTLD_NEXT, "dl_iterate_phdr");
  free(keep(calloc(1, 100)));
  return next(visit, context);
}
static int count_object(struct dl_phdr_info* info, size_t bytes, void* count) {
  (void)info, (void)bytes;
  ++*(int*)count;
  return 0;
}
NOINLINE static void in_main(void) {
  for (int i = 0; i < 10; i++) free(keep(malloc(50)));
}
int main(void) {
  ready = 1;
  int count = 0;
  in_main();
  void* library = dlopen("libm.so.6", RTLD_NOW);
  REQUIRE(library != NULL && dlclose(library) == 0);
  dl_iterate_phdr(count_object, &count);
  return count > 1 ? 0 : 1;
}
