// A stripped program without names: its calls are counted, its frames have module and offset.
// COMPILE -g0
// LINK -s
// EXPECT totals.allocations == 7
// EXPECT totals.frees == 2
// EXPECT totals.allocated_bytes == 1007
// EXPECT totals.live_blocks == 5
// EXPECT totals.live_bytes == 905
// EXPECT totals.peak_live_blocks == 6
// EXPECT totals.peak_live_bytes == 956
// EXPECT totals.temporary_allocations == 1
#include "target.h"
static NOINLINE void* make(size_t size) { return malloc(size); }
int main(void) {
  void* first = make(51);
  for (int i = 0; i < 5; i++) keep(make(181));
  free(first);
  free(keep(make(51)));
  return 0;
}
