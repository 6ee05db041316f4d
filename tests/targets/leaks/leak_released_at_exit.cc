// What static objects release when the program ends is no leak, and was none before.
// CLEAN
#include "leak.h"

#include <map>
#include <string>
#include <vector>
static std::map<int, std::string> names;
static std::vector<std::string> words;
static void* late;
static void at_exit() { free(late); }
int main() {
  for (int i = 0; i < 100; i++) names[i] = std::string(50, 'n');
  for (int i = 0; i < 100; i++) words.push_back(std::string(60, 'w'));
  late = malloc(1000);
  atexit(at_exit);
  forget_registers();
  return 0;
}
