// Late binding of operator new and delete where the program was started without a C++ library: each object that is
// loaded later gets the functions that the loader would have bound it to.
#pragma once
#include <stdint.h>

#include "agent/preload/late_table.h"
#include "common/wire/functions.h"

namespace heaptap::agent {

// For the object that contains the caller. Cached until an object is unloaded.
LateFunction find_late_function(wire::Function function, uintptr_t caller);

// The loader calls the allocator: cached answers may be invalid.
void note_loader_call();

// Whether the object with this path is a C++ library.
bool is_standard_library(const char* path);

}  // namespace heaptap::agent
