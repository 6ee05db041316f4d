// An array of no elements is its cookie alone, and the program holds it by a pointer behind that, where the block ends.
// RUN held
// RUN dropped
#include "leak.h"
struct Element {
  ~Element() { counter++; }
  static inline volatile int counter;
  long payload[3];
};
static Element* volatile elements;
NOINLINE static void hold(volatile int count) {
  elements = new Element[count];  // LEAK held: reachable 1 8/4; dropped: definite 1 8/4
}
int main(int count, char** arguments) {
  hold(0);
  if (said(arguments, "dropped")) elements = nullptr;
  forget_registers();
  return 0;
}
