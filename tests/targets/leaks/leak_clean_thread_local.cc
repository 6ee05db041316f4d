// Thread-local objects with destructors, of the main thread, of one that has ended and of one that lives.
// LINK -pthread
// CLEAN
#include "leak.h"

#include <map>
#include <string>
#include <thread>
#include <vector>
static thread_local std::vector<std::string> words;
static thread_local std::map<int, std::string> names;
NOINLINE static void use() {
  for (int i = 0; i < 20; i++) words.push_back(std::string(40, 'w'));
  for (int i = 0; i < 20; i++) names[i] = std::string(50, 'n');
}
int main() {
  use();
  std::thread(use).join();
  std::thread([] {
    use();
    set_ready();
    wait_for_ever();
  }).detach();
  await_ready(1);
  forget_registers();
  return 0;
}
