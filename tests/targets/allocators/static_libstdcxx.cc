// The C++ library is inside the program: its operator new is the program's own, and calls malloc.
// LINK -static-libstdc++ -static-libgcc
// OPTIONS --sanity
// EXPECT stack through=make_things allocations=10 frees=10 allocated_bytes=400 live_blocks=0
// EXPECT totals.mismatched_frees == 0
// EXPECT totals.bad_frees == 0
#include "target.h"

#include <new>
#include <string>
NOINLINE void make_things() {
  for (int i = 0; i < 10; i++) ::operator delete(keep(::operator new(40)));
}
int main() {
  make_things();
  std::string text(100, 'x');
  keep(&text);
  return 0;
}
