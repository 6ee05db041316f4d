// A program whose entry is a few bytes long, with its functions right behind it: their frames aren't the outermost ones.
// LINK -nostartfiles
// EXPECT stack path=work<begin<_start allocations=10
#include "target.h"

__asm__(
    ".section .text.a_entry,\"ax\"\n"
    ".globl _start\n"
    ".type _start, @function\n"
#if defined(__x86_64__)
    "_start: xorl %ebp, %ebp\n"
    "andq $-16, %rsp\n"
    "call begin\n"
    "hlt\n"
#elif defined(__aarch64__)
    "_start: mov x29, #0\n"
    "mov x30, #0\n"
    "bl begin\n"
    "brk #1\n"
#endif
    ".size _start, . - _start\n"
    ".globl begin\n"
    ".type begin, @function\n"
    "begin:\n"
    ".cfi_startproc\n"
#if defined(__x86_64__)
    "subq $8, %rsp\n"
    ".cfi_def_cfa_offset 16\n"
    "call work\n"
    "call leave\n"
#elif defined(__aarch64__)
    "stp x29, x30, [sp, #-16]!\n"
    ".cfi_def_cfa_offset 16\n"
    ".cfi_offset 29, -16\n"
    ".cfi_offset 30, -8\n"
    "bl work\n"
    "bl leave\n"
#endif
    ".cfi_endproc\n"
    ".size begin, . - begin\n"
    ".previous\n");

NOINLINE void work(void) {
  for (int i = 0; i < 10; i++) free(keep(malloc(100)));
}
void leave(void) { exit(0); }
