// Functions of one address are recorded under the names that they are called by.
// LIBRARY aliased_operators
// LEVELS -O2
// EXPECT stack function="operator new" caller=plain allocations=3 frees=3 allocated_bytes=30
// EXPECT stack function="operator new[]" caller=array allocations=4 frees=4 allocated_bytes=80
// EXPECT stack function=memalign caller=old_aligned allocations=1 allocated_bytes=100
// EXPECT stack function=aligned_alloc caller=new_aligned allocations=1 allocated_bytes=128
// EXPECT totals.mismatched_frees == 0
#include "target.h"

#include <malloc.h>

#include <new>

NOINLINE void* plain() { return keep(::operator new(10)); }
NOINLINE void* array() { return keep(::operator new[](20)); }
NOINLINE void* old_aligned() { return keep(memalign(64, 100)); }
NOINLINE void* new_aligned() { return keep(aligned_alloc(64, 128)); }
NOINLINE void release(void* block) { ::operator delete(block); }  // a jump, where that is shorter

int main() {
  release(plain());
  ::operator delete(plain());
  ::operator delete(plain(), 10);
  for (int i = 0; i < 2; i++) ::operator delete[](array());
  for (int i = 0; i < 2; i++) ::operator delete[](array(), 20);
  free(old_aligned());
  free(new_aligned());
  return 0;
}
