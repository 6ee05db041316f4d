// A program whose allocator keeps some 20 MB resident for 0.6 MiB of blocks that lie all over it; with "close" for 4.8 MiB, a block on
// each page.
// RUN
// RUN close
#include "leak.h"
enum { kBlocks = 20000, kBlockBytes = 1000, kEach = 32, kEachPage = 4 };
static void* volatile passing[kBlocks];
static void* volatile held[kBlocks / kEachPage];
NOINLINE static void* pass_one(void) { return memset(keep(malloc(kBlockBytes)), 1, kBlockBytes); }
NOINLINE static void* hold_one(void) { return memset(keep(malloc(kBlockBytes)), 2, kBlockBytes); }
int main(int count, char** arguments) {
  (void)count;
  const int each = said(arguments, "close") ? kEachPage : kEach;
  for (int i = 0; i < kBlocks; i++) {
    const int is_held = i % each == each - 1;  // the last one, too: so the heap's end isn't given back
    if (is_held)
      held[i / each] = hold_one();
    else
      passing[i] = pass_one();
  }
  for (int i = 0; i < kBlocks; i++) free(passing[i]);
  forget_registers();
  return 0;
}
