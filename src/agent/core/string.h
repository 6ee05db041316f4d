// Minimal string and memory functions in place of libc's.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "agent/core/own_address.h"

namespace heaptap::agent {

inline size_t length_of(const char* text) {
  size_t length = 0;
  while (text[length] != '\0') ++length;
  return length;
}

// Returns `most` at most.
inline size_t length_of(const char* text, size_t most) {
  size_t length = 0;
  while (length < most && text[length] != '\0') ++length;
  return length;
}

inline bool equal(const char* a, const char* b) {
  while (*a != '\0' && *a == *b) {
    ++a;
    ++b;
  }
  return *a == *b;
}

inline bool starts_with(const char* text, const char* prefix) {
  while (*prefix != '\0') {
    if (*text++ != *prefix++) return false;
  }
  return true;
}

inline const char* file_name_of(const char* path) {
  const char* name = path;
  for (; *path != '\0'; ++path) {
    if (*path == '/') name = path + 1;
  }
  return name;
}

inline void copy_bytes(void* to, const void* from, size_t bytes) { __builtin_memcpy(to, from, bytes); }

// Both return the end of the result; the caller provides the room.
inline char* append(char* to, const char* text) {
  const size_t length = length_of(text);
  copy_bytes(to, text, length + 1);
  return to + length;
}

inline char* append_number(char* to, uint32_t number) {
  char digits[10];
  size_t count = 0;
  do {
    digits[count++] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  while (count > 0) *to++ = digits[--count];
  *to = '\0';
  return to;
}

inline __attribute__((always_inline)) uintptr_t load_word(uint64_t address) {
  return *reinterpret_cast<const uintptr_t*>(own_address(address));
}

}  // namespace heaptap::agent
