// Opening of a file that a traced program names for a report. heaptap opens it in place of the program: so only where
// heaptap has no rights that the requesting thread lacks, and sees the same files.
#pragma once
#include <sys/types.h>

#include <string>

#include "common/base/unique_fd.h"

namespace heaptap::supervision {

// Creates or truncates the file for writing, relative to the thread's working directory, with its umask. Sets `file`,
// or returns an errno value: ENOTSUP where the thread's rights or root differ from heaptap's.
int open_asked_file(pid_t thread, const std::string& path, base::UniqueFd& file);

}  // namespace heaptap::supervision
