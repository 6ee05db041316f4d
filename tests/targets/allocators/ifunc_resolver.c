// A resolver of an indirect function allocates while the loader still relocates.
// LINK -Wl,-z,lazy
// EXPECT stack function=malloc caller=main allocations=1 allocated_bytes=7
#include "target.h"
static int chosen(void) { return 42; }
static void* early;
static int (*resolve(void))(void) {
  early = malloc(64);
  return chosen;
}
int choose(void) __attribute__((ifunc("resolve")));
int main(void) {
  keep(malloc(7));
  say("%d %d\n", choose(), early != NULL);
  free(early);
  return 0;
}
