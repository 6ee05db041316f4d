// Waits for SIGINT or SIGTERM, allocates in the handler and ends with a status of its own. Tests send the signals; with
// its input at an end it ends by itself.
// EXPECT exit 2
// EXPECT stack function=malloc caller=main allocations=10
#include "target.h"

#include <signal.h>
static void on_signal(int number) {
  keep(malloc(50));
  say("signal %d\n", number);
  exit(5);
}
int main(void) {
  signal(SIGINT, on_signal);
  signal(SIGTERM, on_signal);
  for (int i = 0; i < 10; i++) keep(malloc(100));
  say("ready\n");
  char byte;
  while (read(0, &byte, 1) > 0) {
  }
  return 2;
}
