// Operators as some allocators have them: several of one address.
#include <stdlib.h>
void* _Znwm(size_t size) { return malloc(size); }
void* _Znam(size_t size) __attribute__((alias("_Znwm")));
void _ZdlPv(void* block) { free(block); }
void _ZdaPv(void* block) __attribute__((alias("_ZdlPv")));
void _ZdlPvm(void* block, size_t size) {
  (void)size;
  free(block);
}
void _ZdaPvm(void* block, size_t size) __attribute__((alias("_ZdlPvm")));
