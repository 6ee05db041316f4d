// A program that frees its peak of 8 MiB; with "leak" it loses some blocks as well.
// RUN
// RUN leak
#include "leak.h"
enum { kImages = 8 };
static void* volatile images[kImages];
NOINLINE static void* load_image(void) { return keep(malloc(1 << 20)); }
NOINLINE static void load_all(void) {
  for (int i = 0; i < kImages; i++) images[i] = load_image();
}
NOINLINE static void release_all(void) {
  for (int i = 0; i < kImages; i++) free(images[i]);
}
NOINLINE static void lose(void) {
  keep(malloc(1000));  // LEAK leak: definite 100 100000
}
int main(int count, char** arguments) {
  for (int i = 0; i < 100 && said(arguments, "leak"); i++) lose();
  load_all();
  release_all();
  forget_registers();
  return 0;
}
