// What an executable says of itself that matters for recording it: data, without a verdict.
#pragma once
#include <optional>
#include <string>

namespace heaptap::collect {

struct ProgramFacts {
  unsigned word_bytes = 0;
  std::string loader = {};         // that it asks for; empty: it is statically linked
  bool has_lines = false;          // debug information, in the file or in a separate one that is here
  bool has_symbols = false;        // names of its own functions
  bool is_go = false;              // its memory comes from the runtime of Go, not from malloc
  bool defines_allocator = false;  // its own malloc, before which no preloaded one can come
};

// Nothing: it can't be read, or is no ELF file.
std::optional<ProgramFacts> read_program_facts(const std::string& file);

}  // namespace heaptap::collect
