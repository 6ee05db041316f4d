// Leaks before main and behind it: in constructors and destructors of the program and of static objects, and in atexit's
// functions.
// EXPECT exit 4
#include "leak.h"
__attribute__((constructor)) static void before_main() {
  keep(malloc(51));  // LEAK definite 1 51
}
__attribute__((destructor)) static void behind_all() {
  keep(malloc(52));  // LEAK definite 1 52
}
static struct Object {
  Object() {
    keep(malloc(53));   // LEAK definite 1 53
    held = malloc(54);  // LEAK reachable 1 54
  }
  ~Object() {
    keep(malloc(55));  // LEAK definite 1 55
  }
  void* held;
} object;
static void at_exit() {
  keep(malloc(56));  // LEAK definite 1 56
}
int main() {
  atexit(at_exit);
  forget_registers();
  return 4;
}
