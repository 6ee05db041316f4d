// Whether a program that is about to be executed names a sanitizer's run-time library: that one wants to be the first, and dies
// where it isn't.
#pragma once
#include <elf.h>

namespace heaptap::agent {

class Program;

// Among the libraries that it needs and the functions that it offers to them. However many names it has, few of them are read.
bool names_a_sanitizer(const Program& program, const Elf64_Ehdr& header, const Elf64_Phdr& dynamic);

}  // namespace heaptap::agent
