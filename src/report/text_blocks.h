// Blocks and roots of a leak scan, in a line each; safe for a terminal.
#pragma once
#include <string>

#include "report/leak_views.h"

namespace heaptap::report {

// A name of the target's, not too long.
std::string short_safe(const std::string& name);

// "#b12  48 B  Node  by operator new from make_node at app.cpp:9 (stack #3)"
std::string block_text(const NamedBlock& block);

// "global cache (app.cpp:12) +16", "stack of thread 3, frame run_loop at loop.cc:40".
std::string root_text(const NamedRoot& root);

// "48 B in 2 blocks"
std::string amount(const BlockCount& count);

}  // namespace heaptap::report
