// Blocks of no bytes are held and lost as others are.
#include "leak.h"
static void* volatile roots[2];
NOINLINE static void run() {
  roots[0] = malloc(0);    // LEAK reachable 1 0
  roots[1] = new char[0];  // LEAK reachable 1 0
  keep(malloc(0));         // LEAK definite 1 0
  keep(new char[0]);       // LEAK definite 1 0
}
int main() {
  run();
  forget_registers();
  return 0;
}
