// The limits and dispositions that heaptap itself runs under. What it is started with is meant for the program that it
// starts: heaptap asks for more where that is allowed, and gives the program what was there.
#pragma once
#include <sys/resource.h>

namespace heaptap::base::own_limits {

// At heaptap's start, before there are threads and children. Signals that tell of a limit are ignored from here on: writing
// fails as on a full disk then.
void lift();

// In a child, before it executes the program. Async-signal-safe.
void give_back();

// What a program that is started gets.
rlimit of_program(__rlimit_resource_t resource);

}  // namespace heaptap::base::own_limits
