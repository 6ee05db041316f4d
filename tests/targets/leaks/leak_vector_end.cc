// Containers hold their memory by its start; pointers behind its end, which may be another block's start, do no harm.
// CLEAN
#include "leak.h"

#include <deque>
#include <map>
#include <string>
#include <vector>
struct Held {
  std::vector<long> numbers = std::vector<long>(100);
  std::vector<std::string> words = std::vector<std::string>(10, std::string(40, 'x'));
  std::deque<int> queue = std::deque<int>(1000);
  std::map<int, std::string> names{{1, std::string(100, 'y')}, {2, "short"}, {3, "three"}};
  std::string text = std::string(1000, 'z');
};
static Held* volatile held;
int main() {
  held = new Held;
  for (int i = 0; i < 2000; i++) held->queue.push_back(i);
  for (int i = 0; i < 1500; i++) held->queue.pop_front();
  forget_registers();
  return 0;
}
