// As past_hooks, by the C library's inner names.
#include <stddef.h>
extern void* __libc_malloc(size_t);
extern void __libc_free(void*);
static void* volatile held;
__attribute__((noinline)) void* past_allocate(size_t size) { return __libc_malloc(size); }
__attribute__((noinline)) void past_release(void* block) { __libc_free(block); }
__attribute__((noinline)) void past_hold(void* block) {
  void** node = __libc_malloc(sizeof(void*));
  *node = block;
  held = node;
}
