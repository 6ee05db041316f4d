// The user's own LD_PRELOAD is kept: it sees the program's calls, and so does heaptap.
// USES user_preload
// ENV LD_PRELOAD=@TARGETS@/libuser_preload.so
// EXPECT stack function=malloc caller=allocate allocations=100 frees=100
#include "target.h"
extern long user_preload_calls(void) __attribute__((weak));
NOINLINE void allocate(void) {
  for (int i = 0; i < 100; i++) free(keep(malloc((size_t)i)));
}
int main(void) {
  REQUIRE(user_preload_calls);
  long before = user_preload_calls();
  allocate();
  say("%ld calls, parent %d, LD_PRELOAD %s\n", user_preload_calls() - before, getppid(), getenv("LD_PRELOAD"));
  return 0;
}
