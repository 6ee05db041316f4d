// Calls whose inner frames lie at equal stack slots with equal return addresses, while a frame below them is another
// one: each stack must name the caller that was really there.
// COMPILE -O2 -fomit-frame-pointer -fno-ipa-icf
// EXPECT stack function=malloc path=leaf<middle<call_it<outer_a allocations=300 allocated_bytes=300
// EXPECT stack function=malloc path=leaf<middle<call_it<outer_b allocations=300 allocated_bytes=600
// EXPECT stack function=malloc path=leaf<middle<call_it<outer_c allocations=300 allocated_bytes=900
// EXPECT stack through=main allocations=900 stacks=3
#include "target.h"
NOINLINE int leaf(size_t size) {
  void* block = keep(malloc(size));
  return block != NULL;
}
NOINLINE int middle(size_t size) {
  int result = leaf(size);
  keep(&result);
  return result;
}
NOINLINE int call_it(size_t size) {
  int result = middle(size);
  keep(&result);
  return result;
}
NOINLINE int outer_a(size_t size) {
  int result = call_it(size);
  keep(&result);
  return result;
}
NOINLINE int outer_b(size_t size) {
  int result = call_it(size);
  keep(&result);
  return result;
}
NOINLINE int outer_c(size_t size) {
  int result = call_it(size);
  keep(&result);
  return result;
}
int main(void) {
  int (*volatile outer[3])(size_t) = {outer_a, outer_b, outer_c};
  for (int i = 0; i < 300; i++)
    for (size_t size = 1; size <= 3; size++) REQUIRE(outer[size - 1](size));
  return 0;
}
