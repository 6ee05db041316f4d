// One of two plugins of the same shape, so that they land at the same address when they are loaded in turns.
#include <stdlib.h>
__attribute__((noinline)) static void* allocate_in_plugin_a(size_t size) { return malloc(size); }
__attribute__((noinline)) void* plugin_entry(size_t size) {
  void* volatile block = allocate_in_plugin_a(size);
  return block;
}
