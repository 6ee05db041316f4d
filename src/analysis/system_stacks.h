// Stacks of what the system's libraries allocate for themselves.
#pragma once
#include <string_view>

#include "analysis/stack_names.h"
#include "model/tables.h"
#include "report/report.h"

namespace heaptap::analysis {

// Whether the module is the dynamic loader, of whatever C library.
bool is_loader(std::string_view path);

// The same of a loader that is nothing else. musl's is the C library as well, and what that allocates for its caller (strdup,
// opendir) is the caller's.
bool is_only_loader(std::string_view path);

// What the blocks of this site are for, where that is known though the program doesn't say so.
// - libstdc++'s emergency pool (some 71 KiB with 64 bits), set aside as it is loaded for exceptions that are thrown when memory has
//   run out. Each C++ program has it to its end. The library's constructor calls malloc, and the loader calls that: so the
//   innermost frame lies in libstdc++.so and the next one in the loader.
// - What the loader allocates.
// - What kept_by_libraries() tells by names.
report::Purpose purpose_of(const model::Tables& tables, const model::Site& site, StackNames& names);

}  // namespace heaptap::analysis
