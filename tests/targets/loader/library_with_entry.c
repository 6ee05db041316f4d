// What lies behind the entry point of a library that can be run is called as any other code, and has a caller.
// LIBRARY with_entry
// EXPECT stack function=malloc path=allocate_near_entry<first<main allocations=100 allocated_bytes=1000
#include "target.h"
void* allocate_near_entry(size_t size);
NOINLINE static void first(void) { keep(allocate_near_entry(10)); }
int main(void) {
  for (int i = 0; i < 100; i++) first();
  say("done\n");
  return 0;
}
