// A block that only a shared library's static variable holds.
// LIBRARY leak_roots
// LEVELS -O2
// RUN held
// RUN dropped
#include "leak.h"
void* volatile* library_place(void);
NOINLINE static void hold(void) {
  *library_place() = malloc(32);  // LEAK held: reachable 1 32; dropped: definite 1 32
}
int main(int count, char** arguments) {
  hold();
  if (said(arguments, "dropped")) *library_place() = NULL;
  forget_registers();
  return 0;
}
