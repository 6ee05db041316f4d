// Memory functions that the compiler may call: it turns copies and clears into these, also in freestanding code.
#include <stddef.h>

#include "common/arch/native.h"

extern "C" {

__attribute__((visibility("hidden"))) void* memcpy(void* __restrict to, const void* __restrict from, size_t bytes) {
  heaptap::arch::native::copy_bytes(to, from, bytes);
  return to;
}

__attribute__((visibility("hidden"))) void* memset(void* to, int value, size_t bytes) {
  heaptap::arch::native::fill_bytes(to, value, bytes);
  return to;
}

}  // extern "C"
