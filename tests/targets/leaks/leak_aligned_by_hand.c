// Blocks of which the program keeps the first place alone that is aligned as it wants: in a global variable that holds them. A place
// further inside is as any other.
#include "leak.h"
static char* volatile line;
static char* volatile page;
static char* volatile inside;
static char* align(char* from, size_t alignment) {
  return (char*)(((uintptr_t)from + alignment - 1) & ~(uintptr_t)(alignment - 1));
}
// One whose start isn't aligned so.
NOINLINE static char* take(size_t size, size_t alignment) {
  char* block = malloc(size);  // LEAK reachable 2 */*, possible 1 */*
  REQUIRE(((uintptr_t)block & (alignment - 1)) != 0);
  return block;
}
NOINLINE static void hold(void) {
  keep(malloc(24));
  line = align(take(1000, 64), 64);
  page = align(take(20000, 4096), 4096);
  inside = align(take(1000, 16), 64) + 128;
}
int main(void) {
  hold();
  forget_registers();
  return 0;
}
