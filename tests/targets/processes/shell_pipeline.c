// system() and popen(): the shell and its programs see no trace of heaptap, and are not part of the numbers.
// EXPECT stack function=malloc caller=in_parent allocations=10 frees=10
#define _GNU_SOURCE
#include "target.h"
NOINLINE void in_parent(void) {
  for (int i = 0; i < 10; i++) free(keep(malloc(10)));
}
int main(void) {
  say("system: %d\n", system("printf 'c\\na\\nb\\n' | sort | tr a-z A-Z; exit 5"));
  say("environment: %d\n", system("env | grep -e ^LD_PRELOAD -e ^HEAPTAP_SESSION"));
  FILE* pipe = popen("seq 1 1000 | wc -l", "r");
  char line[100] = "";
  REQUIRE(pipe && fgets(line, sizeof line, pipe));
  say("popen: %d lines, status %d\n", atoi(line), pclose(pipe));
  in_parent();
  return 0;
}
