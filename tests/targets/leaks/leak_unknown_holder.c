// A block that only another block holds, which isn't recorded. It is the C library that allocates the first one. Where calls are
// left out, its release may be among them.
// TRACE incomplete
// OPTIONS --omit leak_unknown_holder
// RUN held
// RUN dropped
#include "leak.h"

struct holder {
  long before[20];
  char* name;
};
static struct holder* holder;
NOINLINE static void hold(void) {
  holder = malloc(sizeof *holder);
  holder->name = strdup("name");  // LEAK held: reachable 1 5; dropped: unknown 1 5
}
int main(int count, char** arguments) {
  far_below(hold);
  if (said(arguments, "dropped")) holder->name = NULL;
  forget_registers();
  return 0;
}
