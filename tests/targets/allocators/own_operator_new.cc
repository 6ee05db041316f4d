// The program has its own operator new, which calls malloc: each of its calls is one event.
// EXPECT stack through=make_things allocations=10 frees=10 allocated_bytes=400 live_blocks=0
// EXPECT totals.mismatched_frees == 0
#include "target.h"

#include <new>
static int calls;
void* operator new(size_t size) {
  calls++;
  return malloc(size);
}
void operator delete(void* block) noexcept {
  calls++;
  free(block);
}
void operator delete(void* block, size_t) noexcept { operator delete(block); }
NOINLINE void make_things() {
  for (int i = 0; i < 10; i++) ::operator delete(keep(::operator new(40)));
}
int main() {
  int before = calls;
  make_things();
  say("%d calls\n", calls - before);
  return 0;
}
