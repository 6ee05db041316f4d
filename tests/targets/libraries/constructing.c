// A library that allocates in its constructor and releases in its destructor.
#include <stdlib.h>
static void* block;
__attribute__((constructor, noinline)) void construct_library(void) { block = malloc(500); }
__attribute__((destructor, noinline)) void destruct_library(void) { free(block); }
__attribute__((noinline)) void* library_allocate(size_t size) { return malloc(size); }
