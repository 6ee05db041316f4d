// close_range and closefrom over everything but the output.
// EXPECT exit 0
// EXPECT stack function=malloc caller=allocate allocations=10000 frees=10000
#define _GNU_SOURCE
#include "target.h"

#include <fcntl.h>
NOINLINE void allocate(void) {
  for (int i = 0; i < 10000; i++) free(keep(malloc((size_t)i)));
}
int main(void) {
  close(0);
  close(2);
  REQUIRE(close_range(3, ~0u, 0) == 0);
  allocate();
  say("next descriptors: %d %d %d\n", open("/dev/null", O_RDWR), open("/dev/null", O_RDWR), open("/dev/null", O_RDWR));
  return 0;
}
