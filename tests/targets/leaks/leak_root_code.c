// Blocks that code holds which was made as the program runs: their addresses stand in instructions, at any byte.
#define _GNU_SOURCE
#include "leak.h"

#include <sys/mman.h>
static char* code;
NOINLINE static void hold(int at) {
  void* block = malloc(32);  // LEAK reachable 8 256
  memcpy(code + at, &block, sizeof block);
}
NOINLINE static void lose(void) {
  void* block = malloc(33);  // LEAK definite 1 33
  memcpy(code + 2000, &block, sizeof block);
  memset(code + 2000, 0x90, sizeof block);
}
int main(void) {
  code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(code != MAP_FAILED);
  for (int i = 0; i < 8; i++) hold(i * 101);
  lose();
  forget_registers();
  return 0;
}
