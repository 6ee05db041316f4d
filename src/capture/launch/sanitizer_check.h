// Detection of programs built with a sanitizer, and whether they can be recorded. The runtime has an allocator of its
// own and must be loaded first, so an agent can't precede it; and its leak check traces the program itself, which fails
// while heaptap does.
#pragma once
#include <sys/types.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/result.h"

namespace heaptap::launch {

struct Sanitizer {
  const char* name;     // "AddressSanitizer"
  const char* options;  // its environment variable; null: it has no leak check
};

// `environment`: entries NAME=VALUE, of which the last of a name counts.
using Environment = std::vector<std::string>;
Environment own_environment(std::span<const std::string> changes);

// For the executable, or libraries preloaded by the environment. None: no relevant one, or unreadable.
std::optional<Sanitizer> find_sanitizer(const std::string& executable, const Environment& environment);
// Empty: its leak check is off. Else the environment entry that switches it off: NAME=VALUE.
std::string leak_check_switch(const Sanitizer& sanitizer, const Environment& environment);

// Whether a running process can be traced: the error names cause and remedy.
base::Result<> check_sanitizer(pid_t process);

}  // namespace heaptap::launch
