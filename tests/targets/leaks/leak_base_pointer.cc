// An object that is held by a pointer to its second base class: as good as one to its start.
// RUN held
// RUN dropped
#include "leak.h"
struct First {
  virtual ~First() = default;
  long first[2];
};
struct Second {
  virtual ~Second() = default;
  long second[2];
};
struct Derived : First, Second {
  long third[2];
};
static Second* volatile held;
NOINLINE static void hold() {
  held = new Derived;  // LEAK held: reachable 1 64/32; dropped: definite 1 64/32
}
int main(int count, char** arguments) {
  hold();
  if (said(arguments, "dropped")) held = nullptr;
  forget_registers();
  return 0;
}
