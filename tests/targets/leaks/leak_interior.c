// Pointers into the middle. A root's makes possible what it points to and all that hangs on it; in a lost block it counts as
// any other.
#include "leak.h"
static void* volatile roots[5];
#define allocate(size) ((char*)calloc(1, size))
NOINLINE static void from_root(void) {
  roots[0] = allocate(100) + 48;  // LEAK possible 1 100
}
NOINLINE static void from_reachable(void) {
  void** start;
  roots[1] = start = (void**)allocate(101);  // LEAK reachable 1 101
  start[2] = allocate(102) + 16;             // LEAK possible 1 102
}
NOINLINE static void start_in_possible(void) {
  void** middle = (void**)allocate(103);  // LEAK possible 1 103
  middle[2] = allocate(104);              // LEAK possible 1 104
  roots[2] = middle + 1;
}
NOINLINE static void interior_in_possible(void) {
  void** middle = (void**)allocate(105);  // LEAK possible 1 105
  middle[2] = allocate(106) + 24;         // LEAK possible 1 106
  roots[3] = middle + 1;
}
NOINLINE static void interior_in_lost(void) {
  void** lost = (void**)allocate(107);  // LEAK definite 1 107
  lost[2] = allocate(108) + 24;         // LEAK indirect 1 108
}
NOINLINE static void last_byte(void) {
  roots[4] = allocate(112) + 111;  // LEAK possible 1 112
}
int main(void) {
  from_root();
  from_reachable();
  start_in_possible();
  interior_in_possible();
  interior_in_lost();
  last_byte();
  forget_registers();
  return 0;
}
