// A signal handler allocates and loses.
#include "leak.h"

#include <signal.h>
static void* volatile root;
static void handler(int number) {
  keep(malloc(61));   // LEAK definite 3 183
  root = malloc(62);  // LEAK definite 2 124, reachable 1 62
}
int main(void) {
  signal(SIGUSR1, handler);
  for (int i = 0; i < 3; i++) raise(SIGUSR1);
  forget_registers();
  return 0;
}
