// A detached std::thread that lives when the program ends: what it holds is held, what it lost is lost.
// LINK -pthread
#include "leak.h"

#include <memory>
#include <thread>
static void lose() {
  keep(malloc(88));  // LEAK definite 1 88
}
NOINLINE static void work(std::unique_ptr<long[]> mine) {
  far_below(lose);
  forget_registers();
  set_ready();
  wait_for_ever();
  keep(mine.get());
}
int main() {
  auto block = std::make_unique<long[]>(10);     // LEAK reachable 1 80/40
  std::thread(work, std::move(block)).detach();  // LEAK reachable 2 *
  await_ready(1);
  forget_registers();
  return 0;
}
