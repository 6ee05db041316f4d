// Ways through functions that go up and down a few levels at a time and allocate at each turn: stacks differ from the last one
// in their inner frames, in a frame between equal ones, by frames of another size in between, or come back after a while. Some
// frames are found by way of a frame pointer. An argument is the number of turns.
// COMPILE -O2 -fomit-frame-pointer -fno-ipa-icf -fno-inline -fno-optimize-sibling-calls
// RUN 3000
// EXPECT totals.allocations == 3001
// EXPECT totals.frees == 3001
#include "target.h"
static unsigned long long state = 12345;
static long turns;
static unsigned choose(unsigned count) {
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return (unsigned)(state >> 33) % count;
}
static void wander(unsigned depth);
#define PLACE(name, before, after)            \
  NOINLINE static void name(unsigned depth) { \
    before wander(depth + 1);                 \
    after                                     \
  }
PLACE(plain, , keep(NULL);)
PLACE(same_as_plain, , keep(NULL);)
PLACE(wide, char room[200]; keep(room);, keep(room);)
PLACE(by_pointer, char* room = __builtin_alloca(16 + 16 * choose(3)); keep(room);, keep(room);)
PLACE(by_pointer_too, char* room = __builtin_alloca(64); keep(room);, keep(room);)
NOINLINE static void* allocate(size_t size) {
  void* block = keep(malloc(size));
  keep(NULL);
  return block;
}
NOINLINE static void* allocate_wide(size_t size) {
  char room[100];
  keep(room);
  void* block = allocate(size);
  keep(room);
  return block;
}
NOINLINE static void* allocate_by_pointer(size_t size) {
  char* room = __builtin_alloca(size);
  keep(room);
  void* block = choose(2) ? allocate(size) : allocate_wide(size);
  keep(room);
  return block;
}
NOINLINE static void wander(unsigned depth) {
  static void (*const places[])(unsigned) = {plain, same_as_plain, wide, by_pointer, by_pointer_too};
  static void* (*const ways[])(size_t) = {allocate, allocate_wide, allocate_by_pointer};
  while (turns > 0) {
    if (choose(3) == 0 && depth < 40) {
      places[choose(5)](depth);
    } else if (choose(5) == 0 && depth > 1) {
      return;
    } else {
      --turns;
      free(ways[choose(3)](16 + choose(4) * 16));
    }
  }
}
int main(int count, char** arguments) {
  turns = count > 1 ? atol(arguments[1]) : 1000;
  free(keep(malloc(1)));
  while (turns > 0) wander(0);
  return 0;
}
