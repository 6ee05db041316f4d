// A program of which nothing is to be seen but blocks that it releases at once.
// CLEAN
// EXPECT totals.temporary_allocations == 10000
#include "target.h"
NOINLINE static void format(void) { free(keep(malloc(100))); }
int main(void) {
  for (int i = 0; i < 10000; i++) format();
  return 0;
}
