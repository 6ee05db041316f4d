// A program that does nothing but start the one that works: of a run, that one is the answer.
// OPTIONS --follow-fork
// EXPECT stack function=malloc caller=load_image allocations=0
#include "target.h"

#include <sys/wait.h>
enum { kImages = 8 };
NOINLINE static void* load_image(void) { return keep(malloc(1 << 20)); }
int main(void) {
  free(keep(malloc(100)));
  const pid_t child = fork();
  if (child == 0) {
    void* images[kImages];
    for (int i = 0; i < kImages; i++) images[i] = load_image();
    for (int i = 0; i < kImages; i++) free(images[i]);
    return 0;
  }
  int status;
  REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
  return WEXITSTATUS(status);
}
