// dlsym, dlopen and dlerror that fail: their messages are those of the program, not of heaptap's own look-ups.
// LINK -ldl
// EXPECT stack function=malloc caller=main allocations=2 frees=1 allocated_bytes=15
#define _GNU_SOURCE
#include "target.h"

#include <dlfcn.h>
int main(void) {
  const char* none = dlerror();
  say("at first: %s\n", none ? none : "no error");
  REQUIRE(keep(malloc(7)));
  none = dlerror();
  say("after malloc: %s\n", none ? none : "no error");
  void* missing = dlsym(RTLD_DEFAULT, "there_is_no_such_function");
  say("dlsym: %s\n", missing ? "found" : "nothing");
  say("message: %s\n", strstr(dlerror(), "there_is_no_such_function") ? "names it" : "doesn't name it");
  REQUIRE(!dlopen("/there/is/no/such/library.so", RTLD_NOW));
  free(keep(malloc(8)));
  say("message: %s\n", dlerror());
  none = dlerror();
  say("at last: %s\n", none ? none : "no error");
  return 0;
}
