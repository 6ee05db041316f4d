// What is cleaned up where SIGINT, SIGTERM or SIGHUP ends a command that reads traces: the progress line, files that aren't finished,
// and a download of symbols.
#pragma once
#include <cstddef>
#include <string>

namespace heaptap::app::interruption {

// Where the signals would end the process: they do it still, once all is cleaned up.
void clean_up_first();

// A file that is removed then. Returns its place, for `forget_file`; kNoPlace: too many, it stays.
inline constexpr size_t kNoPlace = ~size_t{0};
size_t remember_file(const std::string& path);
void forget_file(size_t place);

// Whether a line is to be wiped on stderr.
void set_line_shown(bool shown);

}  // namespace heaptap::app::interruption
