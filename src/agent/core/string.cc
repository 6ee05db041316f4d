// What the compiler itself may call: it turns copies and clears into these, also in freestanding code.
#include <stddef.h>

extern "C" {

__attribute__((visibility("hidden"))) void* memcpy(void* __restrict to, const void* __restrict from, size_t bytes) {
  void* const result = to;
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
  return result;
}

__attribute__((visibility("hidden"))) void* memset(void* to, int value, size_t bytes) {
  void* const result = to;
  asm volatile("rep stosb" : "+D"(to), "+c"(bytes) : "a"(value) : "memory");
  return result;
}

}  // extern "C"
