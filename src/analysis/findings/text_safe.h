// Terminal-safe text from the target: names may be long and contain any bytes.
#pragma once
#include <string>
#include <string_view>

#include "analysis/findings/function_name.h"
#include "common/model/frame.h"

namespace heaptap::findings {

// Part of a path after the last /.
std::string base_name(const std::string& path);

// "app.cpp:12", "libfoo.so+0x1234", or the address if no module is known.
std::string location_of(const model::Frame& frame);

// Name of the frame's function, "??" if unnamed; about `most` characters at most.
std::string function_of(const model::Frame& frame, size_t most);

// "make_node(int) at app.cpp:12", safe for a terminal.
std::string describe(const model::Frame& frame, size_t most);

}  // namespace heaptap::findings
