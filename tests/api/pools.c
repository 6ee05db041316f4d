/* An allocator of the program's own, in memory of malloc or of mmap, as the first argument says: blocks of its pool that are lost, held
 * and released, and blocks of malloc that nothing but they hold. With a second argument nothing leads to the allocator's memory itself.
 * tests/e2e/api_test.py knows what has to come of it. */
#define _GNU_SOURCE
#include <heaptap/heaptap.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define NOINLINE __attribute__((noinline, noclone))

enum { kArenaBytes = 1 << 16, kHeadBytes = 64 };
static char* arena;
static size_t used;
static void** held; /* the one block of the pool that the program knows of */

static NOINLINE void* take(heaptap_pool pool, size_t size) {
  char* const block = arena + used;
  used += (size + 15) / 16 * 16;
  heaptap_allocated(pool, block, size);
  return block;
}
static NOINLINE void* get(size_t size) { return calloc(1, size); }

static NOINLINE void fill(heaptap_pool pool) {
  void** lost;
  int i;
  held = take(pool, 40);
  held[0] = take(pool, 50);
  held[1] = get(1000); /* held by a block of the pool alone */
  for (i = 0; i < 3; i++) {
    lost = take(pool, 100);
    if (i == 1) lost[5] = get(70); /* lost with it */
  }
  heaptap_released(pool, take(pool, 60));
  *(void* volatile*)(void*)&lost = NULL;
}

static NOINLINE void overwrite_stack(void) {
  volatile char space[8192];
  memset((char*)space, 0, sizeof space);
}

int main(int count, char** arguments) {
  const heaptap_pool pool = heaptap_pool_create("arena");
  if (count < 2) return 97;
  arena = strcmp(arguments[1], "mmap") == 0
              ? mmap(NULL, kArenaBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
              : calloc(1, kArenaBytes);
  used = strcmp(arguments[1], "mmap") == 0 ? kHeadBytes : 0; /* a block of the pool may begin where the memory does */
  fill(pool);
  if (count > 2) {
    arena = NULL;
    held = NULL;
  }
  overwrite_stack();
  return 5;
}
