// A block to which only a pointer behind its last byte points: none into it, but C allows it. Where a neighbour begins there, it is
// the neighbour's.
#include "leak.h"
static char* volatile root;
NOINLINE static void hold(void) {
  root = (char*)malloc(40) + 40;  // LEAK possible 1 40
}
int main(void) {
  hold();
  forget_registers();
  return 0;
}
