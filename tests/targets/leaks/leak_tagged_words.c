// Pointers with bits of the program's own above the address, as lock-free lists (16 bits of a counter) and interpreters (NaN boxes,
// tags of 17 bits) have them: what only these lead to is possible, also where a lowest bit is set besides. A word that would point
// into the middle without them is chance.
#include "leak.h"
static volatile uint64_t counted, boxed, tagged, both, middle;
static volatile uint64_t* list;
#define WORD(pointer) ((uint64_t)(uintptr_t)(pointer))
NOINLINE static void hold(void) {
  counted = WORD(malloc(32)) | (uint64_t)0x0123 << 48;        // LEAK possible 1 32 | reachable 1 32
  boxed = WORD(malloc(33)) | (uint64_t)0xfff9 << 48;          // LEAK possible 1 33 | reachable 1 33
  tagged = WORD(malloc(34)) | (uint64_t)0x1fffb << 47;        // LEAK possible 1 34 | reachable 1 34
  both = WORD(malloc(35)) | (uint64_t)0x8000 << 48 | 3;       // LEAK possible 1 35 | reachable 1 35
  middle = (WORD(malloc(36)) + 16) | (uint64_t)0x0123 << 48;  // LEAK definite 1 36
  list = calloc(8, sizeof *list);                             // LEAK reachable 1 64
  list[5] = WORD(malloc(37)) | (uint64_t)1 << 48;             // LEAK possible 1 37 | reachable 1 37
}
NOINLINE static void lose(void) {
  volatile uint64_t* lost = calloc(8, sizeof *lost);  // LEAK definite 1 64
  lost[2] = WORD(malloc(38)) | (uint64_t)1 << 48;     // LEAK indirect 1 38
  lost = NULL;
}
int main(void) {
  hold();
  lose();
  forget_registers();
  return 0;
}
