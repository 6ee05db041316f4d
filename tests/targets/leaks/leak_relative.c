// Blocks that others hold by how far they lie from them, as fontconfig's patterns hold their elements: what only such words lead to is
// possibly lost where the blocks of a call agree in it, or a block begins with several. Where few do, or not most, or where the
// word may as well be a size, a number has met a block's start by chance.
#include "leak.h"
enum { MANY = 8 };
struct pattern {
  long count;
  long elements;  // distance in bytes
};
static struct pattern* volatile patterns[MANY];
static struct pattern* volatile backward[MANY];
static struct pattern* volatile few[3];
static struct pattern* volatile some[2 * MANY];
static struct pattern* volatile sized[MANY];
static long* volatile table;
static long* volatile short_table;
static char* volatile spacers[MANY];

static long distance(void* from, void* to) { return (long)((char*)to - (char*)from); }

NOINLINE static void hold_behind(int i) {
  struct pattern* pattern = calloc(1, sizeof *pattern);  // LEAK reachable 8 128
  spacers[i] = malloc(100 + 16 * i * i);                 // LEAK reachable 8 *
  char** elements = calloc(4, sizeof *elements);         // LEAK possible 8 256
  elements[2] = malloc(20);                              // LEAK possible 8 160
  pattern->elements = distance(pattern, elements);
  patterns[i] = pattern;
}
NOINLINE static void hold_in_front(int i) {
  char** elements = calloc(4, sizeof *elements);         // LEAK possible 8 256
  struct pattern* pattern = calloc(1, sizeof *pattern);  // LEAK reachable 8 128
  pattern->elements = distance(pattern, elements);
  backward[i] = pattern;
}
NOINLINE static void hold_few(int i) {
  char** elements = calloc(4, sizeof *elements);         // LEAK definite 3 96
  struct pattern* pattern = calloc(1, sizeof *pattern);  // LEAK reachable 3 48
  pattern->elements = distance(pattern, elements);
  few[i] = pattern;
}
NOINLINE static void hold_by_half(int i) {
  char** elements = calloc(4, sizeof *elements);         // LEAK definite 16 512
  struct pattern* pattern = calloc(1, sizeof *pattern);  // LEAK reachable 16 256
  pattern->elements = i % 2 == 0 ? distance(pattern, elements) : i;
  some[i] = pattern;
}
NOINLINE static void lose_behind_a_size(int i) {
  struct pattern* pattern = malloc(64);  // LEAK reachable 8 512
  memset(pattern, 0, 64);
  char* neighbour = calloc(1, 64);  // LEAK definite 8 512
  pattern->count = 80;
  pattern->elements = distance(pattern, neighbour) == 80 ? 80 : 64;
  sized[i] = pattern;
}
NOINLINE static long* hold_in_table(int count) {
  long* held = calloc(count + 1, sizeof *held);  // LEAK reachable 2 104
  for (int i = 0; i < count; i++) {
    held[i] = distance(held, calloc(1, 32));  // LEAK possible 8 256, definite 3 96
  }
  return held;
}

int main(void) {
  for (int i = 0; i < MANY; i++) {
    hold_behind(i);
    hold_in_front(i);
  }
  for (int i = 0; i < 3; i++) hold_few(i);
  for (int i = 0; i < 2 * MANY; i++) hold_by_half(i);
  for (int i = 0; i < MANY; i++) lose_behind_a_size(i);
  table = hold_in_table(MANY);
  short_table = hold_in_table(3);
  forget_registers();
  return 0;
}
