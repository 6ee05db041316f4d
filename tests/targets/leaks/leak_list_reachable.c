// A long list that is held is no leak.
// CLEAN
#include "leak.h"
static void* volatile head;
NOINLINE static void append(void) {
  void** node = malloc(24);
  node[0] = head;
  head = node;
}
int main(void) {
  for (int i = 0; i < 100000; i++) append();
  forget_registers();
  return 0;
}
