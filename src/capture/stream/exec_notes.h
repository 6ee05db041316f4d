// Notes on executed programs, from a log's header.
#pragma once
#include <optional>
#include <vector>

#include "common/model/note.h"
#include "common/wire/log.h"

namespace heaptap::stream {

// Whether the process itself executed another program, as far as its agent reported.
bool has_executed(const wire::LogHeader& log);

// Programs that are not recorded, one note per reason.
std::vector<model::Note> exec_notes(const wire::LogHeader& log);
// Children that weren't to be recorded; none: there were none. Those that have allocated or executed a program are
// counted in the log. `outlive_it`: there are some now, counted or not.
std::optional<model::Note> unfollowed_note(const wire::LogHeader& log, bool outlive_it);

}  // namespace heaptap::stream
