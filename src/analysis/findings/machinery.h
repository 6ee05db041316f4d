// Frames that many sites share: allocation machinery above them, startup code of programs and threads below.
#pragma once
#include <span>
#include <string_view>

#include "common/model/frame.h"

namespace heaptap::findings {

// Names of functions that allocate for others; * matches any characters. Compared with a qualified name without template arguments
// (and without compiler suffixes: "foo.part.0").
std::span<const std::string_view> machinery_names();

// Whether a demangled function name is one of these.
bool is_machinery_name(std::string_view function);

// Whether a frame is allocation machinery: by its name, or by its module if it has none. The interpreter's code is where its program's
// frames are known.
bool is_machinery(const model::Frame& frame);

// Whether a frame of a crash is less telling than its caller: of a system library, or of a language's own way to end.
bool is_way_to_end(const model::Frame& frame);

// Whether a frame is below main() or a thread's function, provided that all frames further out are too.
bool is_startup(const model::Frame& frame);

// Whether a frame is the start of a Rust program: its caller, main(), isn't the program's, which is further in.
bool is_start_of_rust(const model::Frame& frame);

}  // namespace heaptap::findings
