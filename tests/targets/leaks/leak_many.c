// A hundred thousand lost blocks at one line, among as many held ones.
#include "leak.h"
static void* volatile head;
NOINLINE static void run(void) {
  for (int i = 0; i < 100000; i++) {
    void** link = malloc(16);  // LEAK reachable 100000 1600000
    link[0] = head;
    head = link;
    keep(malloc(24));  // LEAK definite 100000 2400000
  }
}
int main(void) {
  run();
  forget_registers();
  return 0;
}
