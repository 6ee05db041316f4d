// Programs that are built with a sanitizer: which one, and whether it can be recorded. Its runtime brings an allocator of its
// own and insists on coming first, so that an agent can't be in front of it; and its leak check traces the program itself, so
// that it can't work where heaptap does.
#pragma once
#include <sys/types.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace heaptap::collect {

struct Sanitizer {
  const char* name;     // "AddressSanitizer"
  const char* options;  // the variable that it reads; null: it doesn't look for leaks
};

// `environment`: entries NAME=VALUE, of which the last of a name counts.
using Environment = std::vector<std::string>;
Environment own_environment(std::span<const std::string> changes);

// Of the executable, or of what the environment preloads into it. None: it has none that matters, or it can't be read.
std::optional<Sanitizer> find_sanitizer(const std::string& executable, const Environment& environment);
// Empty: its leak check isn't on. Else what is to be put into the environment to switch it off: NAME=VALUE.
std::string leak_check_switch(const Sanitizer& sanitizer, const Environment& environment);

// Whether a process can be traced that runs: the error names the cause and the way out.
base::Result<> check_sanitizer(pid_t process);

}  // namespace heaptap::collect
