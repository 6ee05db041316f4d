// Inlined functions appear in the stack, innermost first.
// COMPILE -O2 -fomit-frame-pointer -fno-ipa-icf
// EXPECT stack function=malloc path=inlined_inner<inlined_outer<holder<main allocations=20 allocated_bytes=200
#include "target.h"
static inline __attribute__((always_inline)) void* inlined_inner(size_t size) { return keep(malloc(size)); }
static inline __attribute__((always_inline)) void* inlined_outer(size_t size) { return inlined_inner(size + 1); }
NOINLINE int holder(void) { return inlined_outer(9) != NULL; }
int main(void) {
  for (int i = 0; i < 20; i++) REQUIRE(holder());
  return 0;
}
