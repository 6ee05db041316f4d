// A pointer that was never allocated is released; the C library aborts, and the error is listed all the same.
// OPTIONS --sanity
// EXPECT signal SIGABRT
// EXPECT error kind=bad function=free caller=release count=1
// EXPECT totals.bad_frees == 1
// EXPECT totals.double_frees == 0
#include "target.h"
static char area[256] __attribute__((aligned(64)));
NOINLINE void release(void* block) { free(block); }
int main(void) {
  *(size_t*)(area + 56) = 0x21;  // looks like no chunk of any size that is allowed
  release(keep(area + 72));
  return 0;
}
