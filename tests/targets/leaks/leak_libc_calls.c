// What the C library allocates for its caller. Also told as totals: where the library has no unwind tables, its stacks end in it.
// STDIN a line\nand another\n
// EXPECT leaks.definite.blocks == 6
// EXPECT leaks.possible.blocks == 0
#define _GNU_SOURCE
#include "leak.h"

#include <dirent.h>
static void* volatile root;
NOINLINE static void lose(void) {
  char* text = NULL;
  size_t size = 0;
  keep(strdup("hello"));                         // LEAK definite 1 6
  keep(strndup("hello", 2));                     // LEAK definite 1 3
  REQUIRE(asprintf(&text, "number %d", 5) > 0);  // LEAK definite 1 9
  text = NULL;
  REQUIRE(getline(&text, &size, stdin) > 0);  // LEAK definite 1 120
  keep(realpath("/", NULL));                  // LEAK definite 1 *
  keep(opendir("/"));                         // LEAK definite 1 *
}
int main(void) {
  lose();
  forget_registers();
  return 0;
}
