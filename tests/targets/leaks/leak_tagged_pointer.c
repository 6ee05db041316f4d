// A pointer that carries a flag in its lowest bit, as some trees' do, points into the middle: the block is possible. (Who allows
// for such flags may call it reachable.)
#include "leak.h"
static void* volatile root;
NOINLINE static void hold(void) {
  root = (void*)((uintptr_t)malloc(32) | 1);  // LEAK possible 1 32 | reachable 1 32
}
int main(void) {
  hold();
  forget_registers();
  return 0;
}
