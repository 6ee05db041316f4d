// longjmp over frames that allocate; the stacks after it are those of the frames that are there.
// COMPILE -O2 -fomit-frame-pointer -fno-ipa-icf
// EXPECT stack function=malloc path=leaf<descend_a<via_a<main allocations=1000 allocated_bytes=10000
// EXPECT stack function=malloc path=leaf<descend_b<via_b<main allocations=1000 allocated_bytes=20000
// EXPECT stack function=malloc path=after<main allocations=2000 allocated_bytes=60000
// EXPECT stack through=main allocations=4000
#include "target.h"

#include <setjmp.h>
static jmp_buf back;
NOINLINE int leaf(size_t size) {
  keep(malloc(size));
  longjmp(back, 1);
}
NOINLINE int descend_a(size_t size) { return leaf(size) + *(int*)keep(&size); }
NOINLINE int descend_b(size_t size) { return leaf(size) - *(int*)keep(&size); }
NOINLINE int via_a(size_t size) { return descend_a(size) + *(int*)keep(&size); }
NOINLINE int via_b(size_t size) { return descend_b(size) + *(int*)keep(&size); }
NOINLINE int after(void) {
  void* block = keep(malloc(30));
  return block != NULL;
}
int main(void) {
  for (volatile int i = 0; i < 1000; i++) {
    if (!setjmp(back)) via_a(10);
    REQUIRE(after());
    if (!setjmp(back)) via_b(20);
    REQUIRE(after());
  }
  return 0;
}
