// Children that are all there at the same time, each with blocks of its own.
// OPTIONS -f
// EXPECT exit 7
// RUN 30
#include "target.h"

#include <sys/wait.h>
NOINLINE void work(void) {
  for (int i = 0; i < 100; i++) free(keep(malloc((size_t)(i + 1))));
}
int main(int argc, char** argv) {
  int count = argc > 1 ? atoi(argv[1]) : 10;
  int ready[2], go[2];
  char byte = 0;
  REQUIRE(pipe(ready) == 0 && pipe(go) == 0);
  work();
  for (int i = 0; i < count; i++) {
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child > 0) continue;
    close(go[1]);
    work();
    if (write(ready[1], &byte, 1) != 1 || read(go[0], &byte, 1) != 0) _exit(1);
    _exit(0);
  }
  close(go[0]);
  for (int i = 0; i < count; i++) REQUIRE(read(ready[0], &byte, 1) == 1);
  close(go[1]);
  int status = 0, good = 0;
  while (wait(&status) > 0) good += status == 0;
  return good == count ? 7 : 1;
}
