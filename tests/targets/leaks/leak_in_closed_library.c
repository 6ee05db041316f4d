// A library that is loaded at run time allocates, the program loses the block and closes the library.
// LINK -ldl
// USES plugin_a plugin_b
#include "leak.h"

#include <dlfcn.h>
NOINLINE static void run(const char* name) {
  void* library;
  OPEN_BESIDE(library, name);
  void* (*entry)(size_t) = (void* (*)(size_t))dlsym(library, "plugin_entry");
  keep(entry(71));  // LEAK definite 2 142
  REQUIRE(dlclose(library) == 0);
}
int main(void) {
  run("libplugin_a.so");
  run("libplugin_b.so");
  forget_registers();
  return 0;
}
