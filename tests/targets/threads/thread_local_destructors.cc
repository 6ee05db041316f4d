// Destructors of thread_local objects allocate and release at the very end of each thread, and of the program.
// LINK -pthread
// EXPECT stack function="operator new[]" caller=Held::Held allocations=31 frees=31 allocated_bytes=1984 live_blocks=0
// EXPECT stack function=malloc caller=Held::~Held allocations=31 frees=31
#include "target.h"

#include <thread>
#include <vector>
struct Held {
  NOINLINE Held() : memory(new char[64]) {}
  NOINLINE ~Held() {
    delete[] memory;
    free(keep(malloc(17)));
  }
  char* memory;
};
static thread_local Held held;
static NOINLINE void use() { held.memory[0] = 1; }
int main() {
  use();
  for (int round = 0; round < 3; round++) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 10; i++) threads.emplace_back(use);
    for (auto& thread : threads) thread.join();
  }
  say("done\n");
  return 0;
}
