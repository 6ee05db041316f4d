// The program aligns its buffers by hand, and keeps no pointer to their starts.
// CLEAN
#include <stdint.h>

#include "leak.h"
static char *image, *table, *page;
static struct owner {
  char* buffer;
}* owner;

// The first aligned place behind `remembered` bytes.
__attribute__((noinline)) static char* aligned(size_t bytes, size_t alignment, size_t remembered) {
  char* start = malloc(bytes + alignment + remembered);
  REQUIRE(start != NULL);
  if ((uintptr_t)start % alignment == 0 && remembered == 0) remembered = 1;
  return (char*)(((uintptr_t)start + remembered + alignment - 1) & ~(uintptr_t)(alignment - 1));
}

int main(void) {
  image = aligned(50 << 20, 32, 8);
  table = aligned(1000, 64, 0);
  page = aligned(100000, 4096, 32);
  owner = malloc(sizeof *owner);
  REQUIRE(owner != NULL);
  owner->buffer = aligned(20000, 64, 16);
  forget_registers();
  return 0;
}
