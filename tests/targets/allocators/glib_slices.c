// An allocator that cuts small blocks from slabs, as GLib before 2.76: a slab counts as of the caller that needed a new one. Told by the
// environment it leaves all to malloc, as that does.
// EXPECT stack function=posix_memalign path=g_slice_alloc<first_kind allocations=1
// EXPECT stack function=posix_memalign through=second_kind stacks=0
#include "target.h"
#define SLAB_BYTES 4096
#define BLOCK_BYTES 64

static char *slab, *slab_end;

NOINLINE void* g_slice_alloc(size_t bytes) {
  const char* how = getenv("G_SLICE");
  if (how && !strcmp(how, "always-malloc")) return malloc(bytes);
  if (slab == slab_end) {
    void* memory = NULL;
    REQUIRE(posix_memalign(&memory, SLAB_BYTES, SLAB_BYTES) == 0);
    slab = memory;
    slab_end = slab + SLAB_BYTES;
  }
  slab += bytes;
  return slab - bytes;
}
NOINLINE void first_kind(void) { keep(g_slice_alloc(BLOCK_BYTES)); }
NOINLINE void second_kind(void) { keep(g_slice_alloc(BLOCK_BYTES)); }
int main(void) {
  first_kind();
  for (int i = 0; i < 10; i++) second_kind();
  return 0;
}
