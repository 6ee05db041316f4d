// Blocks of no bytes are blocks; releases of nothing are no events.
// EXPECT stack function=malloc caller=empty_blocks allocations=10 frees=10 allocated_bytes=0 live_blocks=0
// EXPECT stack function=calloc caller=empty_blocks allocations=1 frees=0 allocated_bytes=0 live_blocks=1 live_bytes=0
// EXPECT stack function="operator new" caller=empty_blocks allocations=1 frees=1 allocated_bytes=0
// EXPECT totals.bad_frees == 0
// EXPECT totals.unknown_frees == 0
#include "target.h"

#include <new>

NOINLINE void empty_blocks() {
  for (int i = 0; i < 10; i++) free(malloc(0));
  REQUIRE(calloc(0, 8));
  ::operator delete(::operator new(0));
}
NOINLINE void nothing_released() {
  for (int i = 0; i < 10; i++) {
    free(nullptr);
    ::operator delete(nullptr);
    ::operator delete[](nullptr);
  }
}

int main() {
  empty_blocks();
  nothing_released();
  return 0;
}
