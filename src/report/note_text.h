// What notes are called, and the sentence of each kind. Nobody else says them.
#pragma once
#include <string>
#include <vector>

#include "model/note.h"

namespace heaptap::report {

// Not safe for a terminal: it may have names of the target's in it.
std::string sentence_of(const model::Note& note);
std::vector<std::string> sentences_of(const std::vector<model::Note>& notes);

// "releases_not_seen"; "kind_99" for one of a later version.
std::string name_of(model::NoteKind kind);
// How many of what it tells of: 1 where it tells of one thing.
uint64_t count_of(const model::Note& note);

// Of a note of kind kTracerEnded: "the tracer came to an unexpected end (signal 9 ended it)".
std::string end_of_tracer(const model::Note& note);

}  // namespace heaptap::report
