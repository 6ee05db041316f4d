// Blocks that the allocator maps: one held by its start, one that is only held from the other's far end.
// CLEAN
#include "leak.h"
#define SIZE ((size_t)8 << 20)
static char* volatile first;
NOINLINE static void hold(void) {
  first = malloc(SIZE);
  first[0] = 1;
  *(void**)(first + SIZE - sizeof(void*)) = malloc(300000);
}
int main(void) {
  hold();
  forget_registers();
  return 0;
}
