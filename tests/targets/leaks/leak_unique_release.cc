// The result of unique_ptr's release is dropped.
// LEVELS -O2
#include "leak.h"

#include <memory>
NOINLINE static void lose() {
  auto block = std::make_unique<long[]>(12);  // LEAK definite 1 96
  keep(block.release());
}
NOINLINE static void release() {
  auto block = std::make_unique<long[]>(13);
  keep(block.get());
}
int main() {
  lose();
  release();
  forget_registers();
  return 0;
}
