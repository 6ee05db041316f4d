// A string of the older ABI holds its block by a pointer to the characters, behind their count.
// COMPILE -D_GLIBCXX_USE_CXX11_ABI=0
// RUN held
// RUN dropped
#include "leak.h"

#include <new>
#include <string>
alignas(std::string) static char storage[sizeof(std::string)];  // no destructor runs
NOINLINE static void hold() {
  // LEAK held: reachable 1 *; dropped: definite 1 *
  new (storage) std::string("a string that is too long for any optimisation of short ones");
}
int main(int count, char** arguments) {
  hold();
  if (said(arguments, "dropped")) memset(storage, 0, sizeof storage);
  forget_registers();
  return 0;
}
