// Note: a report of missing data or a failed action, as data. Renderers turn it into a sentence (analysis/findings/note_text.h),
// so notes keep the same form in packets and traces. notes.def lists the kinds and the meaning of each one's numbers,
// module and name.
#pragma once
#include <algorithm>
#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace heaptap::model {

// Numbers that are not listed are kinds of a later version.
enum class NoteKind : uint32_t {
#define HEAPTAP_NOTE(number, enumerator, name, counts) enumerator = number,
#include "common/model/notes.def"
#undef HEAPTAP_NOTE
};

struct Note {
  NoteKind kind = NoteKind::kText;
  std::vector<uint64_t> numbers = {};
  std::string module = {};  // path in the target of the loaded object concerned
  std::string name = {};
  uint32_t pid = 0;  // in reports on several processes: the process concerned. Not encoded

  // The number at an index; 0 where there are fewer, since a note may come from a file.
  [[nodiscard]] uint64_t number(size_t index) const { return index < numbers.size() ? numbers[index] : 0; }
  auto operator<=>(const Note&) const = default;
};

[[nodiscard]] inline bool has_note(std::span<const Note> notes, NoteKind kind) {
  return std::ranges::find(notes, kind, &Note::kind) != notes.end();
}

inline Note failure_note(std::string message) { return {.kind = NoteKind::kFailure, .name = std::move(message)}; }

}  // namespace heaptap::model
