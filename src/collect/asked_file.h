// Opening the file that a traced program names for a report. It isn't the program that opens it: so it is done only where heaptap has
// no rights that the thread which asks doesn't have, and sees the same files.
#pragma once
#include <sys/types.h>

#include <string>

#include "base/unique_fd.h"

namespace heaptap::collect {

// For writing, anew, from the thread's working directory, with its umask. `file` is set, or an errno value is given: ENOTSUP where
// the thread's rights or its root are others than heaptap's.
int open_asked_file(pid_t thread, const std::string& path, base::UniqueFd& file);

}  // namespace heaptap::collect
