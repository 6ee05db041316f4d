// A program without privileges locks its memory, within the usual limit of 8 MiB: as much as without heaptap.
// RUN now
// RUN later
// RUN both
// RUN onfault
// EXPECT stack function=malloc caller=work allocations=1000
#define _GNU_SOURCE
#include "target.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

static long locked_kilobytes(void) {
  char line[300];
  long value = -1;
  FILE* file = fopen("/proc/self/status", "r");
  REQUIRE(file != NULL);
  while (fgets(line, sizeof line, file)) sscanf(line, "VmLck: %ld", &value);
  fclose(file);
  return value;
}
NOINLINE static void work(void) {
  for (int i = 0; i < 1000; i++) free(keep(malloc(100)));
}
int main(int count, char** arguments) {
  REQUIRE(count > 1);
  int flags = !strcmp(arguments[1], "now")     ? MCL_CURRENT
              : !strcmp(arguments[1], "later") ? MCL_FUTURE
                                               : MCL_CURRENT | MCL_FUTURE;
  if (!strcmp(arguments[1], "onfault")) flags = MCL_CURRENT | MCL_ONFAULT;
  free(keep(malloc(100)));
  struct rlimit limit = {8 << 20, 8 << 20};
  REQUIRE(setrlimit(RLIMIT_MEMLOCK, &limit) == 0);
  if (getuid() == 0) REQUIRE(setgid(65534) == 0 && setuid(65534) == 0);
  errno = 0;
  int status = mlockall(flags);
  say("mlockall: %d, errno %d\n", status, errno);
  say("all of it: %d\n", mlockall(-1));
  say("locked: %d\n", locked_kilobytes() > (flags & MCL_CURRENT ? 1500 : -1));
  work();
  int pieces = 0;
  while (pieces < 1000 &&
         mmap(NULL, 64 << 10, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
    pieces++;
  say("room for more: %s\n", pieces == 1000 ? "no limit" : pieces > 40 ? "most of it" : "little");
  return status != 0;
}
