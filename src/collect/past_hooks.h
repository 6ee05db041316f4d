// Objects that call the C library's allocation functions by their inner names (__libc_malloc, __libc_free, ...): no hook is in
// front of these.
#pragma once
#include <sys/types.h>

#include <string>

namespace heaptap::collect {

// Whether the file, as the process sees it, is such an object. False where that can't be read.
bool goes_past_hooks(pid_t process, const std::string& path);

}  // namespace heaptap::collect
