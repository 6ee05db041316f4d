// Blocks that made code holds in memory with two views, one to write and one to run: the second is all that is left.
#define _GNU_SOURCE
#include "leak.h"

#include <sys/mman.h>
#include <unistd.h>
static char* code;
NOINLINE static void hold(int at) {
  void* block = malloc(32);  // LEAK reachable 8 256
  memcpy(code + at, &block, sizeof block);
}
NOINLINE static void lose(void) {
  void* block = malloc(33);  // LEAK definite 1 33
  memcpy(code + 2000, &block, sizeof block);
  memset(code + 2000, 0x90, sizeof block);
}
int main(void) {
  const int file = memfd_create("code", MFD_CLOEXEC);
  REQUIRE(file >= 0 && ftruncate(file, PAGE) == 0);
  code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  const volatile char* run = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
  REQUIRE(code != MAP_FAILED && run != MAP_FAILED);
  close(file);
  for (int i = 0; i < 8; i++) hold(i * 101);
  lose();
  REQUIRE(run[2000] == (char)0x90);
  munmap(code, PAGE);
  forget_registers();
  return 0;
}
