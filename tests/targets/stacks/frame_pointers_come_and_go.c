// A function without unwind tables, called in turns with a frame pointer that leads on and with one that leads nowhere. All
// that lies on the stack is the same: each stack ends where its own frame pointer says.
// NEEDS x86_64
// COMPILE -O1 -fomit-frame-pointer -fno-optimize-sibling-calls
// EXPECT stack function=malloc caller=inner allocations=4000 allocated_bytes=40000
// EXPECT stack function=malloc path=inner<bare<call_bare<main allocations=2000 allocated_bytes=20000
#include "target.h"
__attribute__((used, noinline)) void* inner(size_t size) {
  void* block = malloc(size);
  __asm__ volatile("" : "+r"(block));
  return block;
}
void* bare(size_t size, int leads_on);
__asm__(
    ".text\n.type bare, @function\nbare:\n"
    "  push %rbp\n  xor %ebp, %ebp\n  test %esi, %esi\n  cmovne %rsp, %rbp\n"
    "  call inner\n  pop %rbp\n  ret\n.size bare, . - bare\n");
NOINLINE static int call_bare(int leads_on) { return bare(10, leads_on) != NULL; }
int main(void) {
  static const int leads_on[] = {0, 1, 0, 1, 1, 0, 0, 1};
  for (int i = 0; i < 4000; i++) REQUIRE(call_bare(leads_on[i % 8]));
  say("done\n");
  return 0;
}
