// What libraries of the system keep for themselves, once for the process, whoever made them do it.
#pragma once
#include <span>
#include <string_view>

#include "model/frame.h"
#include "report/report.h"

namespace heaptap::analysis {

// Whether the module is one of those whose own memory is known: glibc and its loader, libstdc++, GLib's libglib and libgobject.
bool is_keeping_library(std::string_view path);

// What the blocks of a stack are for, by its innermost frames as far as these are in such libraries: the innermost function counts
// that allocates for its library alone. What functions give to their caller (strdup, g_strdup, newlocale, g_object_new) is the
// program's.
report::Purpose kept_by_libraries(std::span<const model::Frame> frames);

}  // namespace heaptap::analysis
