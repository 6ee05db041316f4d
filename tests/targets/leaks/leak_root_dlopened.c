// A block that only a static variable of a library holds that was loaded at run time; with the library it goes.
// LINK -ldl
// USES leak_roots
// RUN held
// RUN dropped
// RUN closed
#include "leak.h"

#include <dlfcn.h>
static void* volatile library;
NOINLINE static void* volatile* place(void) {
  void* volatile* (*get)(void) = (void* volatile* (*)(void))dlsym(library, "library_place");
  return get();
}
NOINLINE static void hold(void) {
  *place() = malloc(32);  // LEAK held: reachable 1 32; dropped: definite 1 32; closed: definite 1 32
}
int main(int count, char** arguments) {
  OPEN_BESIDE(library, "libleak_roots.so");
  hold();
  if (said(arguments, "dropped")) *place() = NULL;
  if (said(arguments, "closed")) REQUIRE(dlclose(library) == 0);
  forget_registers();
  return 0;
}
