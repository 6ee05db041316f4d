// Parser of suppression files: LSan's lines and Valgrind's entries, also mixed; the syntax is detected for each.
//   leak:PATTERN           LSan: * for anything, ^ and $ for the beginning and the end of a name; # begins a comment
//   { name                 Valgrind: frames innermost first; * and ? in names, ... for any number of frames
//     Memcheck:Leak
//     match-leak-kinds: definite,possible
//     fun:malloc
//     obj:*/libfoo.so.1    or src:file.c:12
//   }
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/leaks/classify.h"
#include "common/base/result.h"

namespace heaptap::query {

constexpr uint8_t leak_bit(leaks::BlockState state) { return static_cast<uint8_t>(1u << static_cast<unsigned>(state)); }
inline constexpr uint8_t kAllLeakStates = 0xf;

enum class FrameRule : uint8_t { kFunction, kObject, kSource, kAnyFrames };

struct FramePattern {
  FrameRule rule;
  std::string pattern;  // with * and ?; empty for kAnyFrames
};

struct Suppression {
  std::string name;  // Valgrind's; for LSan the line itself
  std::string file;
  uint32_t line = 0;                 // of its start
  uint8_t states = kAllLeakStates;   // leak_bit of the states it hides
  std::string lsan_pattern;          // of an LSan line; else empty
  std::vector<FramePattern> frames;  // of a Valgrind entry
};

// Leak suppressions of a file's text; Valgrind's for other errors are skipped. `file` is its name, for messages.
base::Result<std::vector<Suppression>> parse_suppressions(std::string_view text, const std::string& file);

}  // namespace heaptap::query
