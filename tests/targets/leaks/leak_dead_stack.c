// A block to which only dead frames point: below the stack's end, and where the frames of exit come to lie. Nothing is
// cleaned up; the dead frames are full of the pointer.
// LEVELS -O2
// RUN shallow return
// RUN deep return
// RUN shallow exit
// RUN deep exit
// RUN shallow _exit
// RUN deep _exit
#include "leak.h"
static void* volatile box;
NOINLINE static void litter(int depth) {
  void* volatile copies[16];
  for (int i = 0; i < 16; i++) copies[i] = box;
  if (depth > 0) litter(depth - 1);
  box = copies[3];
}
NOINLINE static void lose(int depth) {
  box = malloc(32);  // LEAK definite 1 32
  litter(depth);
  box = NULL;
}
int main(int count, char** arguments) {
  lose(said(arguments, "deep") ? 200 : 0);
  forget_registers();
  if (said(arguments, "exit")) exit(0);
  if (said(arguments, "_exit")) _exit(0);
  return 0;
}
