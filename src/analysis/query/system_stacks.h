// Stacks of system libraries' own allocations.
#pragma once
#include <string_view>

#include "analysis/query/stack_names.h"
#include "analysis/report/report.h"
#include "common/model/tables.h"

namespace heaptap::query {

// Whether the module is a dynamic loader, of any C library.
bool is_loader(std::string_view path);

// Same for a loader that is nothing else. musl's loader is the C library as well, whose allocations for its caller (strdup, opendir)
// are the caller's.
bool is_only_loader(std::string_view path);

// Purpose of a site's blocks, if known without the program's labels:
// - libstdc++'s emergency pool (some 71 KiB on 64 bits), allocated at load time for exceptions thrown when memory has run out. Each C++
//   program has it to its end. The library's constructor calls malloc, and is called by the loader: so the innermost frame is in
//   libstdc++.so and the next one in the loader.
// - Allocations of the loader.
// - Purposes that kept_by_libraries() knows by names.
report::Purpose purpose_of(const model::Tables& tables, const model::Site& site, StackNames& names);

}  // namespace heaptap::query
