// A soft limit on processor time. By ptrace the kernel charges the program for its stops: it isn't ended for them, but for what it uses
// itself.
// RUN stops
// EXPECT exit 0
// RUN works
// EXPECT signal SIGXCPU
#include "target.h"

#include <sys/resource.h>
static double system_seconds(void) {
  struct rusage used;
  REQUIRE(getrusage(RUSAGE_SELF, &used) == 0);
  return (double)used.ru_stime.tv_sec + (double)used.ru_stime.tv_usec / 1e6;
}
int main(int count, char** arguments) {
  const struct rlimit limit = {1, RLIM_INFINITY};
  REQUIRE(setrlimit(RLIMIT_CPU, &limit) == 0);
  if (count > 1 && strcmp(arguments[1], "works") == 0)
    for (;;) keep(NULL);
  // Alone that is some milliseconds.
  for (int i = 0; i < 600 && system_seconds() < 1.5; i++)
    for (int j = 0; j < 100; j++) free(keep(malloc(10)));
  return 0;
}
