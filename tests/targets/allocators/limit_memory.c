// A limit on memory that the program sets for itself, or had from the start, still leaves it what it needs.
// RUN address-space
// EXPECT stack function=malloc caller=take allocations=20 frees=0
// RUN data
// EXPECT stack function=malloc caller=take allocations=20 frees=0
// RUN locked
// EXPECT stack function=malloc caller=take allocations=20 frees=0
// RUN inherited
// TRACE any
#include "target.h"

#include <sys/mman.h>
#include <sys/resource.h>
NOINLINE void take(void) {
  for (int i = 0; i < 20; i++) {
    char* block = malloc(1 << 20);
    REQUIRE(block);
    memset(block, 1, 1 << 20);
  }
}
static void limit(int which, size_t mebibytes) {
  struct rlimit limit = {mebibytes << 20, mebibytes << 20};
  REQUIRE(setrlimit(which, &limit) == 0);
}
int main(int count, char** arguments) {
  REQUIRE(count > 1);
  if (!strcmp(arguments[1], "address-space")) limit(RLIMIT_AS, 64);
  if (!strcmp(arguments[1], "data")) limit(RLIMIT_DATA, 40);
  if (!strcmp(arguments[1], "locked")) say("locked: %d\n", mlockall(MCL_CURRENT));
  if (!strcmp(arguments[1], "inherited")) {
    limit(RLIMIT_AS, 64);
    char* next[] = {arguments[0], (char*)"again", NULL};
    execv("/proc/self/exe", next);
    return 98;
  }
  take();
  say("20 MiB taken\n");
  return 0;
}
