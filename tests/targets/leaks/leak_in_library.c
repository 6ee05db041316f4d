// A shared library's function allocates, and the program loses it.
// LIBRARY leak_roots
#include "leak.h"
void* library_make(size_t size);
NOINLINE static void lose(void) {
  keep(library_make(77));  // LEAK definite 1 77
}
int main(void) {
  lose();
  forget_registers();
  return 0;
}
