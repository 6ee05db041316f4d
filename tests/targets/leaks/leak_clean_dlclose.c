// Libraries are opened and closed, with an error in between: what the loader keeps is not lost.
// LINK -ldl
// USES plugin_a plugin_b
// CLEAN
#include "leak.h"

#include <dlfcn.h>
int main(void) {
  for (int i = 0; i < 20; i++) {
    void* library;
    OPEN_BESIDE(library, i % 2 ? "libplugin_a.so" : "libplugin_b.so");
    REQUIRE(dlsym(library, "plugin_entry") && !dlsym(library, "no_such_symbol"));
    REQUIRE(dlclose(library) == 0 && !dlopen("/no/such/library.so", RTLD_NOW));
  }
  REQUIRE(dlerror());
  forget_registers();
  return 0;
}
