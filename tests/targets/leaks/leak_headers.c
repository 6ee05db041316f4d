// Functions that keep a header in front of what they give out, so that the program has pointers into the middle of their
// blocks alone. Where all blocks of a stack, or of a call that several stacks share, are held at one offset, they are held;
// where one is, or offsets differ, or the program has pointers to the starts of others, that may be chance.
// COMPILE -fno-ipa-icf
#include "leak.h"
#define MANY 40
#define HEADER 16
static char* volatile held[10 * MANY];
static int holders;
static void hold(char* pointer) { held[holders++] = pointer; }
// Nothing in the block says what stands in front: all zeros.
static char* cleared(char* block) { return memset(block, 0, 96); }

NOINLINE static char* counted_string(void) {
  return cleared(malloc(96)) + HEADER;  // LEAK definite 3 288, reachable 40 3840
}
NOINLINE static char* other_string(void) {
  return cleared(malloc(96)) + 2 * HEADER;  // LEAK reachable 4 384
}
NOINLINE static char* behind_a_string(void) {
  return cleared(malloc(96));  // LEAK reachable 40 3840
}
NOINLINE static char* with_end(void) {
  return cleared(malloc(96)) + HEADER;  // LEAK reachable 40 3840
}
NOINLINE static char* mostly_so(int i) {
  return cleared(malloc(96)) + (i == 7 ? 3 * HEADER : HEADER);  // LEAK possible 1 96, reachable 39 3744
}
NOINLINE static char* anywhere(int i) {
  return cleared(malloc(96)) + 8 * (1 + i % 5);  // LEAK possible 40 3840
}
NOINLINE static char* single(void) {
  return cleared(malloc(96)) + HEADER;  // LEAK possible 1 96
}
NOINLINE static char* few(void) {
  return cleared(malloc(96)) + HEADER;  // LEAK possible 3 288
}
NOINLINE static char* allocate_for_others(void) {
  return cleared(malloc(96)) + HEADER;  // LEAK reachable 6 576
}
// A stack for each number.
NOINLINE static char* by_many_ways(int calls) {
  if (calls == 0) return allocate_for_others();
  char* pointer = by_many_ways(calls - 1);
  return keep(pointer);
}
NOINLINE static char* with_cursor(void) {
  return cleared(malloc(96));  // LEAK possible 4 384, reachable 36 3456
}
NOINLINE static char* far_behind(void) {
  return cleared(malloc(9000)) + 8192;  // LEAK possible 40 360000
}

static void fill(void) {
  for (int i = 0; i < MANY; i++) {
    char* string = counted_string();
    *(char**)(string + 40) = behind_a_string();
    hold(string);
    char* array = with_end();
    hold(array + 64);  // also further behind
    hold(array);
    hold(mostly_so(i));
    hold(anywhere(i));
    char* buffer = with_cursor();
    if (i % 10 != 0) hold(buffer);
    hold(buffer + HEADER);
    hold(far_behind());
  }
  for (int i = 0; i < 4; i++) hold(other_string());
  for (int i = 0; i < 3; i++) hold(few());
  for (int i = 0; i < 3; i++) counted_string();
  for (int i = 0; i < 6; i++) hold(by_many_ways(i));
  hold(single());
}
int main(void) {
  far_below(fill);
  return 0;
}
