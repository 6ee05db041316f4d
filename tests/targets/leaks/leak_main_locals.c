// What only a variable of main holds is lost when main has returned, and isn't when main calls exit.
// RUN return
// RUN exit
#include "leak.h"
static void* volatile box;
static void fill_box(void) {
  box = malloc(32);  // LEAK return: definite 1 32; exit: reachable 1 32
}
int main(int count, char** arguments) {
  void* volatile local;
  fill_box();
  local = box;
  box = NULL;
  forget_registers();
  if (said(arguments, "exit")) exit(0);
  return keep(local) == NULL;
}
