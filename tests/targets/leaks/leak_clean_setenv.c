// The C library keeps what setenv made in a tree whose nodes have their colour in a pointer's lowest bit.
// CLEAN
#include "leak.h"
int main(void) {
  for (int i = 0; i < 1000; i++) {
    char text[40];
    snprintf(text, sizeof text, "value-%08d", i);
    REQUIRE(setenv("COUNTER", text, 1) == 0);
  }
  forget_registers();
  return 0;
}
