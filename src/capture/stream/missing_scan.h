// Reason for a missing leak scan at the end of a traced process.
#pragma once
#include <span>

#include "common/model/note.h"

namespace heaptap::stream {

// `notes`: those of the recording. If the tracer detached from the running process, or ended, they say so.
model::NoteKind kind_of_missing_traced_scan(std::span<const model::Note> notes);

}  // namespace heaptap::stream
