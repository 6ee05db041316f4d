// Suppressions of known leaks built into a program: the text returned by its __lsan_default_suppressions, for LeakSanitizer.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>

#include "common/model/capture.h"

namespace heaptap::supervision {

// For the executable at this path, in the view of that thread's process. None: not defined, or not readable without calling it:
// only a function that returns a constant text of the file is understood (x86-64). Skips lines other than leak suppressions.
std::optional<model::SuppressionText> program_suppressions(pid_t thread, const std::string& executable);

}  // namespace heaptap::supervision
