// Six threads with nothing but correct code, faster than a small log holds: what isn't known accuses nobody (unknown_test.py).
// TRACE any
#include "target.h"

#include <thread>
#include <vector>
static void work(int seed) {
  std::vector<int*> blocks(64);
  unsigned state = static_cast<unsigned>(seed);
  for (int i = 0; i < 60000; ++i) {
    state = state * 1103515245 + 12345;
    int*& block = blocks[state >> 16 & 63];
    delete[] block;
    block = new int[state >> 24 & 63];
  }
  for (int* block : blocks) delete[] block;
}
int main() {
  std::vector<std::thread> threads;
  for (int i = 1; i <= 6; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  return 0;
}
