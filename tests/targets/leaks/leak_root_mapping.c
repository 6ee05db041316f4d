// A block that only a word in the middle of memory holds which the program mapped itself, of every kind.
// RUN private held
// RUN private dropped
// RUN private unmapped
// RUN shared held
// RUN shared dropped
// RUN shared unmapped
// RUN file held
// RUN file dropped
// RUN file unmapped
// RUN shared_file held
// RUN shared_file dropped
// RUN disk_file held
// RUN disk_file dropped
// RUN disk_file unmapped
#define _GNU_SOURCE
#include "leak.h"

#include <sys/mman.h>
#define SIZE (64 * PAGE)
static void* volatile* area;
NOINLINE static void map(char** arguments) {
  int file = -1;
  if (said(arguments, "file") || said(arguments, "shared_file")) {
    file = memfd_create("mapped", MFD_CLOEXEC);
    REQUIRE(file >= 0 && ftruncate(file, SIZE) == 0);
  }
  if (said(arguments, "disk_file")) {
    char name[] = "mapped-XXXXXX";
    file = mkstemp(name);
    REQUIRE(file >= 0 && unlink(name) == 0 && ftruncate(file, SIZE) == 0);
  }
  int shared = said(arguments, "shared") || said(arguments, "shared_file") || said(arguments, "disk_file");
  int flags = (shared ? MAP_SHARED : MAP_PRIVATE) | (file < 0 ? MAP_ANONYMOUS : 0);
  area = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, flags, file, 0);
  REQUIRE(area != MAP_FAILED);
  if (file >= 0) close(file);
}
NOINLINE static void hold(void) {
  area[20000] = malloc(32);  // LEAK held: reachable 1 32; dropped: definite 1 32; unmapped: definite 1 32
}
int main(int count, char** arguments) {
  map(arguments);
  hold();
  if (said(arguments, "dropped")) area[20000] = NULL;
  if (said(arguments, "unmapped")) REQUIRE(munmap((void*)area, SIZE) == 0);
  forget_registers();
  return 0;
}
