// A handler that allocates, raised again and again, also within itself.
// EXPECT stack function=malloc caller=handler allocations=1500 frees=1000 allocated_bytes=24000
// EXPECT stack function=malloc caller=main allocations=500 frees=500
#include "target.h"

#include <signal.h>
NOINLINE void handler(int number) {
  void* block = keep(malloc(16));
  if (number == SIGUSR1) {
    raise(SIGUSR2);
    free(block);
    free(keep(malloc(16)));
  }
}
int main(void) {
  signal(SIGUSR1, handler);
  signal(SIGUSR2, handler);
  for (int i = 0; i < 500; i++) {
    void* block = keep(malloc(8));
    raise(SIGUSR1);
    free(block);
  }
  say("done\n");
  return 0;
}
