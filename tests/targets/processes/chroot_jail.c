// The program changes its root to an empty directory and gives up its rights; the trace is where it belongs.
// EXPECT stack function=malloc caller=allocate allocations=100000 frees=100000
#define _GNU_SOURCE
#include "target.h"

#include <sys/stat.h>
NOINLINE void allocate(void) {
  for (int i = 0; i < 100000; i++) free(keep(malloc((size_t)i)));
}
int main(void) {
  char directory[] = "/tmp/heaptap-jail-XXXXXX";
  REQUIRE(mkdtemp(directory));
  REQUIRE(chdir(directory) == 0);
  rmdir(directory);
  if (chroot(".") != 0 && errno == EPERM) say("not permitted\n");
  if (getuid() == 0) REQUIRE(setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0);
  allocate();
  say("done\n");
  return 0;
}
