// What a program itself says of its known leaks: the text that its __lsan_default_suppressions returns, for LeakSanitizer.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>

#include "model/capture.h"

namespace heaptap::collect {

// Of the executable at this path, as the process with that thread sees it. None: it has none, or it can't be read without calling it: only a function that returns a text of
// the file is understood (x86-64). Lines that are no suppressions of leaks are left out.
std::optional<model::SuppressionText> program_suppressions(pid_t thread, const std::string& executable);

}  // namespace heaptap::collect
