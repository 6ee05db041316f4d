// Exceptions through frames that allocate and release; stacks before, in handlers and after are right.
// COMPILE -O2 -fomit-frame-pointer -fno-ipa-icf
// EXPECT stack function="operator new" path=before<throwing<main allocations=500 frees=500
// EXPECT stack function="operator new" path=in_cleanup<Guard::~Guard<throwing<main allocations=500 frees=500
// EXPECT stack function="operator new" path=in_handler<main allocations=500 frees=500
// EXPECT stack function="operator new" path=after<main allocations=500 frees=500
#include "target.h"

#include <stdexcept>
NOINLINE void before() { ::operator delete(keep(::operator new(10))); }
NOINLINE void in_cleanup() { ::operator delete(keep(::operator new(20))); }
NOINLINE void in_handler() { ::operator delete(keep(::operator new(30))); }
NOINLINE void after() { ::operator delete(keep(::operator new(40))); }
struct Guard {
  NOINLINE ~Guard() {
    in_cleanup();
    keep(this);
  }
};
NOINLINE void throwing(int i) {
  Guard guard;
  before();
  if (i >= 0) throw std::runtime_error("a message that is long enough to be allocated");
}
int main() {
  for (int i = 0; i < 500; i++) {
    try {
      throwing(i);
    } catch (const std::exception& error) {
      in_handler();
      keep((void*)&error);
    }
    after();
  }
  say("done\n");
  return 0;
}
