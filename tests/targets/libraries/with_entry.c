// A library that can be run like a program: its ELF header has an entry point, and what lies just behind it is called as any
// other code.
#include <stdlib.h>

// The linker takes a function of this name for the entry.
__attribute__((visibility("hidden"))) void _start(void) {}
void* allocate_near_entry(size_t size) {
  void* block = malloc(size);
  return block;
}
