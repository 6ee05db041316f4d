// Facts of an executable that matter for recording it: data, without judgement.
#pragma once
#include <optional>
#include <string>

namespace heaptap::app {

struct ProgramFacts {
  unsigned word_bytes = 0;
  std::string loader = {};         // interpreter; empty: statically linked
  bool has_lines = false;          // debug information, in the file or in an available separate one
  bool has_symbols = false;        // symbols of its own functions
  bool is_go = false;              // uses the Go runtime's allocator, not malloc
  bool defines_allocator = false;  // has its own malloc, which a preloaded one can't interpose
};

// None: unreadable, or not ELF.
std::optional<ProgramFacts> read_program_facts(const std::string& file);

}  // namespace heaptap::app
