// Constructors of the program, plain and of global objects, and destructors at its end.
// EXPECT stack function=malloc caller=early_constructor allocations=1 allocated_bytes=101
// EXPECT stack function=malloc caller=late_constructor allocations=1 allocated_bytes=102
// EXPECT stack function="operator new" caller=Global::Global allocations=1 frees=1 allocated_bytes=103
// EXPECT stack function=malloc caller=Global::~Global allocations=1 allocated_bytes=104
// EXPECT stack function=malloc caller=destructor allocations=1 allocated_bytes=105
// EXPECT stack function=malloc caller=at_exit allocations=1 allocated_bytes=106
#include "target.h"
__attribute__((constructor(101))) NOINLINE void early_constructor() { REQUIRE(malloc(101)); }
__attribute__((constructor)) NOINLINE void late_constructor() { REQUIRE(malloc(102)); }
__attribute__((destructor)) NOINLINE void destructor() { REQUIRE(malloc(105)); }
NOINLINE void at_exit() { REQUIRE(malloc(106)); }
struct Global {
  NOINLINE Global() : block(::operator new(103)) {}
  NOINLINE ~Global() {
    ::operator delete(block);
    REQUIRE(malloc(104));
  }
  void* block;
};
static Global global;
int main() {
  atexit(at_exit);
  return 0;
}
