// The plainest leak, in one line, in functions below each other, and under the program's eyes.
// LEVELS -O2
#include "leak.h"
static void* volatile root;
NOINLINE static void lose(void) {
  keep(malloc(32));  // LEAK definite 1 32
}
NOINLINE static void lose_zeroed(void) {
  keep(calloc(3, 11));  // LEAK definite 1 33
}
NOINLINE static void overwrite(void) {
  root = malloc(64);  // LEAK definite 1 64
  root = malloc(65);  // LEAK reachable 1 65
}
NOINLINE static void release(void) { free(keep(malloc(66))); }
int main(void) {
  lose();
  lose_zeroed();
  overwrite();
  release();
  forget_registers();
  return 0;
}
