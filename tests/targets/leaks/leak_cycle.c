// A cycle is lost: the block that was allocated first stands for it as definite, the others are indirect. A block that points to itself is definite.
// RUN 1
// RUN 2
// RUN 1000
#include "leak.h"
static void* volatile first;
NOINLINE static void* volatile* add(void) {
  return malloc(48);  // LEAK 1: definite 1 48; 2: definite 1 48, indirect 1 48; 1000: definite 1 48, indirect 999 47952
}
NOINLINE static void ring(int size) {
  void* volatile* last = add();
  first = (void*)last;
  for (int i = 1; i < size; i++) {
    void* volatile* next = add();
    last[2] = (void*)next;
    last = next;
  }
  last[2] = first;
  first = NULL;
}
int main(int count, char** arguments) {
  ring(atoi(arguments[1]));
  forget_registers();
  return 0;
}
