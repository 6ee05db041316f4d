// Functions in assembly without unwind tables: one keeps a frame pointer, one doesn't. The calls are counted, and a
// stack that ends early says so.
// NEEDS x86_64
// EXPECT stack function=malloc caller=from_framed allocations=10 allocated_bytes=100
// EXPECT stack function=malloc caller=from_bare allocations=10 allocated_bytes=200
// EXPECT stack function=malloc path=after<main allocations=20
#include "target.h"
NOINLINE void* from_framed(size_t size) { return keep(malloc(size)); }
NOINLINE void* from_bare(size_t size) { return keep(malloc(size)); }
void* framed(size_t size);
void* bare(size_t size);
__asm__(
    ".text\n.globl framed\n.type framed, @function\nframed:\n"
    "  push %rbp\n  mov %rsp, %rbp\n  sub $64, %rsp\n  call from_framed@PLT\n  leave\n  ret\n.size framed, . - framed\n"
    ".globl bare\n.type bare, @function\nbare:\n"
    "  push %rbp\n  xor %ebp, %ebp\n  sub $64, %rsp\n  call from_bare@PLT\n  add $64, %rsp\n  pop %rbp\n  ret\n"
    ".size bare, . - bare\n");
NOINLINE void after(void) { keep(malloc(5)); }
int main(void) {
  for (int i = 0; i < 10; i++) {
    REQUIRE(framed(10));
    after();
    REQUIRE(bare(20));
    after();
  }
  return 0;
}
