// Cleanup when SIGINT, SIGTERM or SIGHUP ends a command that reads traces: progress line, unfinished files, and a symbol download.
#pragma once
#include <cstddef>
#include <string>

namespace heaptap::app::interruption {

// Installs handlers for those of the signals that would end the process: they still do, after the cleanup.
void clean_up_first();

// Registers a file to remove. Returns its slot, for `forget_file`; kNoPlace: too many files, it is not removed.
inline constexpr size_t kNoPlace = ~size_t{0};
size_t remember_file(const std::string& path);
void forget_file(size_t place);

// Whether a progress line on stderr must be erased.
void set_line_shown(bool shown);

}  // namespace heaptap::app::interruption
