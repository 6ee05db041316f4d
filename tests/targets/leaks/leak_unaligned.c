// A pointer that doesn't lie on a word's boundary isn't found: a known limit. The block is held, and is called lost.
#include "leak.h"
static volatile char packed[64];
NOINLINE static void hide(void) {
  void* block = malloc(32);  // LEAK definite 1 32
  memcpy((char*)packed + 3, &block, sizeof block);
}
int main(void) {
  hide();
  forget_registers();
  return 0;
}
