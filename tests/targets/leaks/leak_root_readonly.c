// A block that only memory holds which was writable once and is only to be read now. The program can still get at it.
// RUN held
// RUN dropped
#include "leak.h"

#include <sys/mman.h>
static void* volatile* area;
NOINLINE static void hold(void) {
  area[100] = malloc(32);  // LEAK held: reachable 1 32; dropped: definite 1 32
}
int main(int count, char** arguments) {
  area = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(area != MAP_FAILED);
  hold();
  if (said(arguments, "dropped")) area[100] = NULL;
  REQUIRE(mprotect((void*)area, 4 * PAGE, PROT_READ) == 0);
  forget_registers();
  return 0;
}
