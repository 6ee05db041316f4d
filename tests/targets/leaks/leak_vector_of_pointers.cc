// A vector of plain pointers is cleared: what they pointed to is lost. As long as the vector keeps its memory, the old pointers
// are still in there, so that those blocks can't be told from held ones.
// LEVELS -O2
#include "leak.h"

#include <vector>
static std::vector<void*>* volatile kept;
NOINLINE static void lose() {
  std::vector<void*> blocks;
  for (int i = 0; i < 10; i++) blocks.push_back(calloc(1, 40));  // LEAK definite 10 400
  blocks.clear();
}
NOINLINE static void clear() {
  kept = new std::vector<void*>;                               // LEAK reachable 1 24
  for (int i = 0; i < 8; i++) kept->push_back(calloc(1, 41));  // LEAK definite 8 328 | reachable 9 392
  kept->clear();
}
int main() {
  lose();
  clear();
  forget_registers();
  return 0;
}
