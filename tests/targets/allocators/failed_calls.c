// Calls that fail count nothing, and fail as they do without heaptap.
// EXPECT stack through=overflows allocations=0 frees=0
// EXPECT stack through=bad_alignments allocations=0
// EXPECT stack through=at_the_limit allocations=0
#define _GNU_SOURCE
#include "target.h"

#include <malloc.h>
#include <stddef.h>

static void told(const char* what, void* result) {
  int saved = errno;
  say("%s: %s, errno %d\n", what, result ? "a block" : "NULL", saved);
  errno = 0;
}

NOINLINE void overflows(void) {
  size_t half = (size_t)1 << 63;
  told("calloc overflow", calloc(half, 4));
  told("calloc overflow, swapped", calloc(4, half));
  told("reallocarray overflow", reallocarray(NULL, half, 4));
  told("reallocarray overflow, swapped", reallocarray(NULL, 3, half));
}

NOINLINE void bad_alignments(void) {
  void* untouched = (void*)0x1234;
  errno = 77;
  int result = posix_memalign(&untouched, 3, 100);
  say("posix_memalign(3): %d, errno %d, pointer %p\n", result, errno, untouched);
  result = posix_memalign(&untouched, 0, 100);
  say("posix_memalign(0): %d, errno %d, pointer %p\n", result, errno, untouched);
  result = posix_memalign(&untouched, 4, 100);
  say("posix_memalign(4): %d, errno %d, pointer %p\n", result, errno, untouched);
  result = posix_memalign(&untouched, 64, PTRDIFF_MAX);
  say("posix_memalign(PTRDIFF_MAX): %d, errno %d, pointer %p\n", result, errno, untouched);
  errno = 0;
}

NOINLINE void at_the_limit(void) {
  told("malloc(PTRDIFF_MAX)", malloc(PTRDIFF_MAX));
  told("malloc(PTRDIFF_MAX + 1)", malloc((size_t)PTRDIFF_MAX + 1));
  told("malloc(SIZE_MAX)", malloc(SIZE_MAX));
  told("calloc(1, PTRDIFF_MAX)", calloc(1, PTRDIFF_MAX));
  told("realloc(NULL, PTRDIFF_MAX)", realloc(NULL, PTRDIFF_MAX));
  told("aligned_alloc(64, PTRDIFF_MAX)", aligned_alloc(64, PTRDIFF_MAX));
  told("memalign(4096, SIZE_MAX)", memalign(4096, SIZE_MAX));
  told("valloc(SIZE_MAX)", valloc(SIZE_MAX));
  told("pvalloc(SIZE_MAX)", pvalloc(SIZE_MAX));
}

int main(void) {
  errno = 0;
  overflows();
  bad_alignments();
  at_the_limit();
  return 0;
}
