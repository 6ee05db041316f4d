// Names and sentences of notes, of all kinds.
#pragma once
#include <string>
#include <vector>

#include "common/model/note.h"

namespace heaptap::findings {

// Not safe for a terminal: it may contain names from the target.
std::string sentence_of(const model::Note& note);
std::vector<std::string> sentences_of(const std::vector<model::Note>& notes);

// Those of a scan that are about the program: threads that were not joined.
std::vector<std::string> program_faults(const std::vector<model::Note>& of_scan);

// "releases_not_seen"; "kind_99" for one of a later version.
std::string name_of(model::NoteKind kind);
// Number of things a note is about; 1 for a single one.
uint64_t count_of(const model::Note& note);

// For a note of kind kTracerEnded: "the tracer came to an unexpected end (signal 9 ended it)".
std::string end_of_tracer(const model::Note& note);

}  // namespace heaptap::findings
