// Blocks that the allocator maps by itself are blocks of malloc, not mappings.
// EXPECT stack function=malloc caller=make_large allocations=3 frees=1 allocated_bytes=3221225472 live_bytes=2147483648
// EXPECT totals.mapped_live_bytes == 0
#include "target.h"
NOINLINE void* make_large(void) { return malloc((size_t)1 << 30); }
int main(void) {
  char* first = make_large();
  char* second = make_large();
  REQUIRE(first && second && make_large());
  first[12345678] = second[87654321] = 1;
  free(first);
  return 0;
}
