// The address of a local variable is released.
// OPTIONS --sanity
// EXPECT signal SIGABRT
// EXPECT error kind=bad function=free caller=release count=1
// EXPECT totals.bad_frees == 1
#include "target.h"
NOINLINE void release(void* block) { free(block); }
int main(void) {
  long local[4] = {0};
  release(keep(&local[1]));
  return 0;
}
