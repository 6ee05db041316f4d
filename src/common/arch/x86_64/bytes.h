// Copying and clearing without calls: compilers turn plain loops into calls of memcpy and memset, even in freestanding code.
#pragma once
#include <stddef.h>

namespace heaptap::arch::x86_64 {

inline void copy_bytes(void* to, const void* from, size_t bytes) {
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}

inline void fill_bytes(void* to, int value, size_t bytes) {
  asm volatile("rep stosb" : "+D"(to), "+c"(bytes) : "a"(value) : "memory");
}

}  // namespace heaptap::arch::x86_64
