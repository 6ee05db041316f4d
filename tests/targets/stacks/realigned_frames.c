// A function that aligns its stack anew and needs to know where it was called: from stack pointers a little apart it has one
// and the same frame, and memory in which the other callers' return addresses still are.
// COMPILE -O1 -fomit-frame-pointer -fno-inline -fno-optimize-sibling-calls
// EXPECT stack function=malloc path=allocate<realigned<from_a<main allocations=800 allocated_bytes=800
// EXPECT stack function=malloc path=allocate<realigned<from_b<main allocations=800 allocated_bytes=1600
// EXPECT stack function=malloc path=allocate<realigned<from_c<main allocations=800 allocated_bytes=2400
// EXPECT stack function=malloc path=allocate<realigned<from_d<main allocations=800 allocated_bytes=3200
// EXPECT stack function=malloc path=realigned<from_a<main allocations=800 allocated_bytes=800
// EXPECT stack function=malloc path=realigned<from_d<main allocations=800 allocated_bytes=3200
#include "target.h"
// Without a call, which would write to the stack.
#define USE(pointer) __asm__ volatile("" : : "r"(pointer) : "memory")
NOINLINE static void* allocate(size_t size) {
  void* block = keep(malloc(size));
  keep(NULL);
  return block;
}
NOINLINE static void realigned(size_t size, size_t room_bytes) {
  char aligned[64] __attribute__((aligned(1024)));
  char* room = __builtin_alloca(room_bytes);
  keep(aligned);
  keep(room);
  keep(allocate(size));
  keep(malloc(size));
  keep(aligned);
}
#define FROM(name, bytes)                  \
  NOINLINE static void name(size_t size) { \
    char unwritten[bytes];                 \
    USE(unwritten);                        \
    realigned(size, 48);                   \
    USE(unwritten);                        \
  }
FROM(from_a, 16)
FROM(from_b, 32)
FROM(from_c, 48)
FROM(from_d, 64)
int main(void) {
  static void (*const from[])(size_t) = {from_a, from_b, from_c, from_d};
  static const int turns[] = {0, 1, 2, 3, 2, 0, 3, 1};
  for (int i = 0; i < 3200; i++) {
    const int turn = turns[i % 8];
    from[turn]((size_t)turn + 1);
  }
  say("done\n");
  return 0;
}
