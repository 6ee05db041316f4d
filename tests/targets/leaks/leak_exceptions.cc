// An exception passes over a pointer that nobody else holds; exception objects themselves are released.
#include "leak.h"

#include <stdexcept>
#include <string>
NOINLINE static void throw_over() {
  void* volatile block = malloc(48);  // LEAK definite 1 48
  if (block) throw std::runtime_error(std::string(100, 'x'));
}
NOINLINE static void in_constructor_fails() {
  struct Fails {
    long payload[5];
    void* inner;
    Fails() {
      inner = malloc(56);  // LEAK definite 1 56
      throw 1;
    }
  };
  keep(new Fails);  // the block of the object itself is released
}
int main() {
  try {
    throw_over();
  } catch (const std::exception&) {
  }
  try {
    in_constructor_fails();
  } catch (int) {
  }
  forget_registers();
  return 0;
}
