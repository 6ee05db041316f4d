#include "views/html/shell.h"

// The file's bytes, put here by the assembler; HEAPTAP_SHELL is its path while heaptap is built.
asm(R"(
  .pushsection .rodata
  .global heaptap_html_shell
  .global heaptap_html_shell_end
heaptap_html_shell:
  .incbin ")" HEAPTAP_SHELL R"("
heaptap_html_shell_end:
  .byte 0
  .popsection
)");

extern "C" const char heaptap_html_shell[];
extern "C" const char heaptap_html_shell_end[];

namespace heaptap::html {

std::string_view shell() { return {heaptap_html_shell, heaptap_html_shell_end}; }

}  // namespace heaptap::html
