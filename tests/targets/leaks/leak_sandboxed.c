// A program that has closed all its descriptors and can't be dumped is unharmed at its end. Where no scan can be made, that is said.
// TRACE any
#define _GNU_SOURCE
#include "leak.h"

#include <sys/prctl.h>
int main(void) {
  keep(malloc(32));
  prctl(PR_SET_DUMPABLE, 0);
  close_range(3, ~0u, 0);
  forget_registers();
  return 0;
}
