// Functions in assembly with unwind tables: a frame that is described by a register which is no frame pointer (the stack
// may end there, with a reason), and one that is realigned.
// NEEDS x86_64
// EXPECT stack function=malloc path=from_assembly<assembly_function allocations=10 allocated_bytes=100
// EXPECT stack function=malloc path=from_assembly<assembly_realigns<main allocations=10 allocated_bytes=100
#include "target.h"
NOINLINE void* from_assembly(size_t size) { return keep(malloc(size)); }
void* assembly_function(size_t size);
void* assembly_realigns(size_t size);
__asm__(
    ".text\n.globl assembly_function\n.type assembly_function, @function\n"
    "assembly_function:\n.cfi_startproc\n"
    "  push %rbx\n  .cfi_def_cfa_offset 16\n  .cfi_offset rbx, -16\n"
    "  mov %rsp, %rbx\n  .cfi_def_cfa_register rbx\n"
    "  sub $4096, %rsp\n"
    "  call from_assembly@PLT\n"
    "  mov %rbx, %rsp\n  .cfi_def_cfa_register rsp\n"
    "  pop %rbx\n  .cfi_def_cfa_offset 8\n  .cfi_restore rbx\n"
    "  ret\n.cfi_endproc\n.size assembly_function, . - assembly_function\n"
    // As a compiler realigns a frame: the CFA is found through a slot of it (DW_CFA_def_cfa_expression).
    ".globl assembly_realigns\n.type assembly_realigns, @function\n"
    "assembly_realigns:\n.cfi_startproc\n"
    "  lea 8(%rsp), %r10\n  .cfi_def_cfa r10, 0\n"
    "  and $-64, %rsp\n"
    "  push -8(%r10)\n"
    "  push %rbp\n"
    "  mov %rsp, %rbp\n  .cfi_escape 0x10, 0x06, 0x02, 0x76, 0x00\n"
    "  push %r10\n  .cfi_escape 0x0f, 0x03, 0x76, 0x78, 0x06\n"
    "  sub $40, %rsp\n"
    "  call from_assembly@PLT\n"
    "  add $40, %rsp\n"
    "  pop %r10\n  .cfi_def_cfa r10, 0\n"
    "  pop %rbp\n  .cfi_restore rbp\n"
    "  lea -8(%r10), %rsp\n  .cfi_def_cfa rsp, 8\n"
    "  ret\n.cfi_endproc\n.size assembly_realigns, . - assembly_realigns\n");
int main(void) {
  for (int i = 0; i < 10; i++) REQUIRE(assembly_function(10) && assembly_realigns(10));
  return 0;
}
