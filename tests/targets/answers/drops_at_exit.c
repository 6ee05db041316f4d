// A C program, whose exit handler drops what a global variable holds.
// RUN
#include "target.h"

static void* held[10];

static void drop(void) {
  for (int i = 0; i < 10; i++) held[i] = NULL;
}

int main(void) {
  for (int i = 0; i < 10; i++) {
    held[i] = malloc(1000);  // LEAK definite 10 10000
    REQUIRE(held[i]);
  }
  REQUIRE(atexit(drop) == 0);
  return 0;
}
