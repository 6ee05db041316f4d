// Memory that system libraries keep for themselves, once per process, whatever code made them allocate it.
#pragma once
#include <span>
#include <string_view>

#include "analysis/report/report.h"
#include "common/model/frame.h"

namespace heaptap::query {

// Whether the module's own memory is known: glibc and its loader, libstdc++, GLib's libglib and libgobject.
bool is_keeping_library(std::string_view path);

// Purpose of a stack's blocks, by its innermost frames as far as these are in such libraries: the innermost function counts that
// allocates for its library alone. Blocks that functions return to the caller (strdup, g_strdup, newlocale, g_object_new) are the
// program's.
report::Purpose kept_by_libraries(std::span<const model::Frame> frames);

}  // namespace heaptap::query
