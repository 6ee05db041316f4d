// Paths of the kernel's files of a process or a thread.
#pragma once
#include <sys/types.h>

#include <string>
#include <string_view>

namespace heaptap::base {

// "/proc/12/status"
std::string process_file(pid_t process, std::string_view name);

}  // namespace heaptap::base
