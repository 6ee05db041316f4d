// A chain of forks in which each one is recorded: a child doesn't keep what its ancestors were recorded with.
// OPTIONS --follow-fork
// EXPECT exit 7
// EXPECT stack function=malloc caller=allocate allocations=10 frees=10
#define _GNU_SOURCE
#include "target.h"

#include <fcntl.h>
#include <sys/wait.h>
NOINLINE void allocate(void) {
  for (int i = 0; i < 10; i++) free(keep(malloc(10)));
}
// Of address space, in pages.
static long size_now(void) {
  char text[128] = {0};
  const int file = open("/proc/self/statm", O_RDONLY);
  REQUIRE(file >= 0 && read(file, text, sizeof text - 1) > 0);
  close(file);
  return strtol(text, NULL, 10);
}
int main(void) {
  enum { kSettled = 4, kLast = 16 };
  const long most_pages = 16384;  // 64 MiB
  long settled = 0;
  for (int depth = 0; depth <= kLast; depth++) {
    allocate();
    if (depth == kSettled) settled = size_now();
    if (depth == kLast) {
      const long more = size_now() - settled;
      if (more > most_pages) say("%ld pages more\n", more);
      return 7;
    }
    const pid_t child = fork();
    if (child == 0) continue;
    int status = 0;
    REQUIRE(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    if (depth == 0) say("ended with %d\n", WEXITSTATUS(status));
    _exit(WEXITSTATUS(status));
  }
  return 1;
}
