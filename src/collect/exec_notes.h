// What a log's header says of programs that were executed.
#pragma once
#include <optional>
#include <vector>

#include "model/note.h"
#include "wire/log.h"

namespace heaptap::collect {

// The process itself went on as another program, as far as it told.
bool has_executed(const wire::LogHeader& log);

// Programs that are not recorded, a note for each reason.
std::vector<model::Note> exec_notes(const wire::LogHeader& log);
// Children that weren't to be recorded; none: it had none.
std::optional<model::Note> unfollowed_note(const wire::LogHeader& log);

}  // namespace heaptap::collect
