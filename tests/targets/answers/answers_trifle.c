// A service that holds 1 MiB in a table, and some words by pointers into their middle, which is little against it; with "lost" it
// loses a block, too, which is less.
// RUN
// RUN lost
#include "leak.h"
enum { kEntries = 256, kWords = 4 };
static void* volatile table[kEntries];
static char* volatile words[kWords];
NOINLINE static void fill_table(void) {
  for (int i = 0; i < kEntries; i++) {
    table[i] = keep(malloc(4096));  // LEAK reachable 256 1048576
  }
}
NOINLINE static void make_words(void) {
  for (int i = 0; i < kWords; i++) {
    words[i] = (char*)keep(calloc(1, 100)) + 16 * (i + 1);  // LEAK possible 4 400
  }
}
NOINLINE static void lose(void) {
  keep(malloc(7));  // LEAK lost: definite 1 7
}
int main(int count, char** arguments) {
  (void)count;
  if (said(arguments, "lost")) far_below(lose);
  far_below(fill_table);
  far_below(make_words);
  forget_registers();
  return 0;
}
