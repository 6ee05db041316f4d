// A new handler is called inside operator new, releases memory and gives up the second time.
// EXPECT stack function=malloc caller=main allocations=1 frees=1 allocated_bytes=1000
// EXPECT stack function=malloc caller=on_failure allocations=2 frees=2
#include "target.h"

#include <new>
static void* reserve;
NOINLINE void on_failure() {
  say("the handler runs\n");
  free(keep(malloc(100)));
  if (!reserve) throw std::bad_alloc();
  free(reserve);
  reserve = nullptr;
}
int main() {
  reserve = malloc(1000);
  std::set_new_handler(on_failure);
  volatile size_t huge = (size_t)1 << 62;
  try {
    keep(::operator new(huge));
  } catch (const std::bad_alloc&) {
    say("gave up\n");
  }
  return 0;
}
