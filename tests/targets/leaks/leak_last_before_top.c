// The allocator's own pointer to its free rest lies in the tail of the last block before it. It holds nothing.
// RUN 4120
// RUN 4121
// RUN 4124
// RUN 4128
// RUN 40
#include "leak.h"
NOINLINE static void lose(size_t size) {
  keep(malloc(size));  // LEAK definite 1 *
}
int main(int count, char** arguments) {
  lose((size_t)atol(arguments[1]));
  forget_registers();
  return 0;
}
