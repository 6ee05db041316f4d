// A cycle with a block that hangs on it, and one that holds the cycle: only that one is definite.
#include "leak.h"
NOINLINE static void lose(void) {
  void **a, **b, **tail, **holder;
  a = malloc(50);       // LEAK indirect 1 50
  b = malloc(60);       // LEAK indirect 1 60
  tail = malloc(70);    // LEAK indirect 1 70
  holder = malloc(80);  // LEAK definite 1 80
  a[0] = b;
  b[0] = a;
  b[1] = tail;
  tail[0] = NULL;
  holder[3] = a;
}
int main(void) {
  lose();
  forget_registers();
  return 0;
}
