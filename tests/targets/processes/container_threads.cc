// Six threads fill maps and strings until a line comes from stdin: nothing is ever released by what doesn't fit it.
// LINK -pthread
// STDIN end\n
// EXPECT exit 0
// EXPECT totals.mismatched_frees == 0
// EXPECT totals.bad_frees == 0
// EXPECT totals.double_frees == 0
#include "target.h"

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

std::atomic<bool> ends{false};

void fill() {
  for (unsigned round = 0; !ends; ++round) {
    std::map<int, std::string> map;
    for (int i = 0; i < 20; ++i) map[i * 7 % 20] = std::string(40 + round % 50, 'x');
    std::unique_ptr<std::string[]> array(new std::string[3]);
    array[1] = map[3];
    std::free(keep(std::malloc(30)));
  }
}

}  // namespace

int main() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) threads.emplace_back(fill);
  say("ready\n");
  char line[16];
  (void)!read(0, line, sizeof(line));
  ends = true;
  for (std::thread& thread : threads) thread.join();
  say("ended\n");
  return 0;
}
