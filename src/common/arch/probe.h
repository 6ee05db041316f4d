// User statically-defined tracing probes (USDT): an instruction that does nothing, and a note in the ELF file that says where it is and where
// its arguments are then, by which debuggers and eBPF programs find it. The form of the notes is SystemTap's, version 3. Without
// a semaphore: a probe fires whether or not anybody looks.
#pragma once
#include <stdint.h>

// An address in a note.
#if __SIZEOF_POINTER__ == 4
#define HEAPTAP_PROBE_ADDRESS ".4byte "
#else
#define HEAPTAP_PROBE_ADDRESS ".8byte "
#endif

// `arguments`: text of the operands, such as "8@%[block]"; the operands follow.
#define HEAPTAP_PROBE(provider, name, arguments, ...)                                                       \
  __asm__ volatile(                                                                                         \
      "990: nop\n"                                                                                          \
      ".pushsection .note.stapsdt, \"\", \"note\"\n"                                                        \
      ".balign 4\n"                                                                                         \
      ".4byte 992f - 991f, 994f - 993f, 3\n"                                                                \
      "991: .asciz \"stapsdt\"\n"                                                                           \
      "992: .balign 4\n"                                                                                    \
      "993: " HEAPTAP_PROBE_ADDRESS "990b\n" HEAPTAP_PROBE_ADDRESS "_.stapsdt.base\n" HEAPTAP_PROBE_ADDRESS \
      "0\n"                                                                                                 \
      ".asciz \"" provider                                                                                  \
      "\"\n"                                                                                                \
      ".asciz \"" name                                                                                      \
      "\"\n"                                                                                                \
      ".asciz \"" arguments                                                                                 \
      "\"\n"                                                                                                \
      "994: .balign 4\n"                                                                                    \
      ".popsection\n"                                                                                       \
      ".ifndef _.stapsdt.base\n"                                                                            \
      ".pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n"                           \
      ".weak _.stapsdt.base\n"                                                                              \
      ".hidden _.stapsdt.base\n"                                                                            \
      "_.stapsdt.base: .space 1\n"                                                                          \
      ".size _.stapsdt.base, 1\n"                                                                           \
      ".popsection\n"                                                                                       \
      ".endif\n"                                                                                            \
      :                                                                                                     \
      : __VA_ARGS__)
