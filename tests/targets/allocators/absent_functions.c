// Functions that this C library may not have: a program that asks for them gets the same answer with and without heaptap,
// and what it finds works.
// LINK -ldl
#define _GNU_SOURCE
#include "target.h"

#include <dlfcn.h>
#include <stddef.h>

extern void free_sized(void*, size_t) __attribute__((weak));
extern void free_aligned_sized(void*, size_t, size_t) __attribute__((weak));

int main(void) {
  say("weak: free_sized %d, free_aligned_sized %d\n", free_sized != NULL, free_aligned_sized != NULL);
  say("dlsym: free_sized %d, free_aligned_sized %d\n", dlsym(RTLD_DEFAULT, "free_sized") != NULL,
      dlsym(RTLD_DEFAULT, "free_aligned_sized") != NULL);
  if (free_sized) free_sized(malloc(24), 24);
  if (free_aligned_sized) free_aligned_sized(aligned_alloc(64, 64), 64, 64);
  return 0;
}
