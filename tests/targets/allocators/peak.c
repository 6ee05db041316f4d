// The peak: the most bytes at one time, and what each stack held then.
// EXPECT stack function=malloc caller=large peak_bytes=10000000 live_bytes=0 allocations=2
// EXPECT stack function=malloc caller=base peak_bytes=3000 live_bytes=3000
// EXPECT stack function=malloc caller=later peak_bytes=0 live_bytes=500
// EXPECT totals.peak_live_bytes >= 10003000
// EXPECT totals.peak_live_bytes <= 10200000
// EXPECT totals.peak_live_blocks >= 1002
#include "target.h"
NOINLINE void* base(void) { return malloc(3000); }
NOINLINE void* large(void) { return malloc(5000000); }
NOINLINE void* later(void) { return malloc(500); }
NOINLINE void* small(void) { return malloc(1); }
int main(void) {
  keep(base());
  void* first = large();
  void* second = large();
  free(first);
  free(second);
  keep(later());
  static void* blocks[1000];
  for (int i = 0; i < 1000; i++) blocks[i] = small();
  for (int i = 0; i < 1000; i++) free(blocks[i]);
  return 0;
}
