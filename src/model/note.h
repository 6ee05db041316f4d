// A note: something that could not be seen or done, as data. Which sentence that is, a renderer says (report/note_text.h); so
// notes travel from where they come up through packets and traces in the same form. notes.def lists the kinds, and what the
// numbers, the module and the name of each mean.
#pragma once
#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace heaptap::model {

// A later version's kinds have numbers that are not listed here.
enum class NoteKind : uint32_t {
#define HEAPTAP_NOTE(number, enumerator, name, counts) enumerator = number,
#include "model/notes.def"
#undef HEAPTAP_NOTE
};

struct Note {
  NoteKind kind = NoteKind::kText;
  std::vector<uint64_t> numbers = {};
  std::string module = {};  // path of the loaded object that it is about, as the target has it
  std::string name = {};
  uint32_t pid = 0;  // in what is said of several processes together: whose it is. No part of a note's bytes

  // One of the numbers; 0 where there are fewer, since a note may come from a file.
  [[nodiscard]] uint64_t number(size_t index) const { return index < numbers.size() ? numbers[index] : 0; }
  auto operator<=>(const Note&) const = default;
};

inline Note failure_note(std::string message) { return {.kind = NoteKind::kFailure, .name = std::move(message)}; }

}  // namespace heaptap::model
