// The head of a chain is lost: it definitely, what hangs on it indirectly.
// LEVELS -O2
#include "leak.h"
static void* volatile root;
NOINLINE static void* volatile* add(void* next) {
  void* volatile* link = malloc(32);  // LEAK definite 1 32, indirect 9 288
  link[1] = next;
  return link;
}
NOINLINE static void lose(void) {
  void* volatile* head = NULL;
  for (int i = 0; i < 10; i++) head = add((void*)head);
  root = (void*)head;
}
int main(void) {
  lose();
  root = NULL;
  forget_registers();
  return 0;
}
