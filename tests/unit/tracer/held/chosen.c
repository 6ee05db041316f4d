// Its valloc is one of two, which a resolver chooses when the program is loaded. Tells where the chosen one is.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((noinline)) void* first_valloc(size_t bytes) { return malloc(bytes); }
__attribute__((noinline)) void* second_valloc(size_t bytes) { return malloc(bytes + 1); }

static void* (*resolve(void))(size_t) { return second_valloc; }
void* valloc(size_t bytes) __attribute__((ifunc("resolve")));

int main(void) {
  void* volatile block = valloc(10);
  printf("valloc %#lx\ndone 0\n", (unsigned long)(uintptr_t)&second_valloc);
  fflush(stdout);
  for (char byte; read(0, &byte, 1) == 1;) continue;
  free(block);
  return 0;
}
