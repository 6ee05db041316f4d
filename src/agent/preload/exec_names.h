// Detection of a sanitizer's run-time library in a program about to be executed: such a library must come first, and
// aborts otherwise.
#pragma once
#include <elf.h>
#include <link.h>

namespace heaptap::agent {

class Program;

// Searches the needed libraries and the functions that the program exports to them. Reads few names, however many there are.
bool names_a_sanitizer(const Program& program, const ElfW(Ehdr) & header, const ElfW(Phdr) & dynamic);

}  // namespace heaptap::agent
