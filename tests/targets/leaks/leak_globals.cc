// What lives as long as the program, and nobody releases: singletons, function-local statics, arrays of pointers.
// LEVELS -O2
// CLEAN
#include "leak.h"

#include <memory>
#include <string>
#include <unordered_map>
struct Registry {
  std::unordered_map<std::string, std::unique_ptr<long[]>> entries;
};
static Registry& registry() {
  static Registry* instance = new Registry;
  return *instance;
}
static const std::string* const names[] = {new std::string(100, 'a'), new std::string(100, 'b'),
                                           new std::string("short")};
int main() {
  for (int i = 0; i < 100; i++) registry().entries[std::to_string(i) + *names[i % 3]] = std::make_unique<long[]>(10);
  forget_registers();
  return 0;
}
