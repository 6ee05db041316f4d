// A library that allocates in its constructor and releases in its destructor. Before that it calls what is no allocation, and is
// hooked all the same.
#include <stdlib.h>
#include <sys/prctl.h>
static void* block;
__attribute__((constructor, noinline)) void construct_library(void) {
  prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
  block = malloc(500);
}
__attribute__((destructor, noinline)) void destruct_library(void) { free(block); }
__attribute__((noinline)) void* library_allocate(size_t size) { return malloc(size); }
