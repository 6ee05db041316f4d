// Programs that are started for the user: an editor, a browser.
#pragma once
#include <sys/types.h>

#include <expected>
#include <string>
#include <vector>

namespace heaptap::app {

// Starts the program that $PATH has for the first word, with the others as arguments; without a terminal its input and outputs are
// /dev/null. The error is that of posix_spawnp(3).
std::expected<pid_t, int> start_program(const std::vector<std::string>& words, bool has_terminal);

}  // namespace heaptap::app
