// A linked library has an `on_exit` that isn't libc's: nobody but the program calls it.
// LIBRARY own_on_exit
// EXPECT exit 1
// EXPECT stack function=malloc caller=main allocations=1 frees=0 live_bytes=40
#include "target.h"
extern int on_exit_of_library(const char* event) __asm__("on_exit");
static void* kept;
int main(void) {
  kept = malloc(40);
  REQUIRE(kept);
  return on_exit_of_library("saved");
}
