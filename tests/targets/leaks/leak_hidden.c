// A pointer that is kept in another form is none: the block is lost by definition.
#include "leak.h"
static volatile uintptr_t hidden;
NOINLINE static void hide(void) {
  hidden = (uintptr_t)malloc(32) ^ 0x5555555555555555;  // LEAK definite 1 32
}
int main(void) {
  hide();
  forget_registers();
  return 0;
}
