// new[] keeps a count in front of elements with destructors: the program holds the block by a pointer behind it.
// RUN held
// RUN dropped
#include "leak.h"
struct Element {
  ~Element() { counter++; }
  static inline volatile int counter;
  long payload[3];
};
static Element* volatile elements;
NOINLINE static void hold() {
  elements = new Element[10];  // LEAK held: reachable 1 248/124; dropped: definite 1 248/124
}
int main(int count, char** arguments) {
  hold();
  if (said(arguments, "dropped")) elements = nullptr;
  forget_registers();
  return 0;
}
