// Text of the target on its way to a terminal: names may be long, and may hold anything.
#pragma once
#include <string>
#include <string_view>

#include "model/frame.h"
#include "report/function_name.h"

namespace heaptap::report {

// What stands behind the last / of a path.
std::string base_name(const std::string& path);

// "app.cpp:12", "libfoo.so+0x1234", or the address where no module is known.
std::string location_of(const model::Frame& frame);

// The name of the frame's function, "??" where it has none; at most about `most` characters.
std::string function_of(const model::Frame& frame, size_t most);

// "make_node(int) at app.cpp:12", safe for a terminal.
std::string describe(const model::Frame& frame, size_t most);

}  // namespace heaptap::report
