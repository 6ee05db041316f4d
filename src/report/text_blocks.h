// Blocks and roots of a leak scan, in a line each; safe for a terminal.
#pragma once
#include <string>
#include <vector>

#include "report/leak_views.h"
#include "report/report.h"
#include "report/text_parts.h"

namespace heaptap::report {

// A type's or variable's name, not too long.
std::string short_safe(const std::string& name);

// "#b12  48 B  Node  by operator new from make_node app.cpp:9 (stack #3)"
std::string block_text(const TextContext& context, const NamedBlock& block);

// "global cache (app.cpp:12) +16", "stack of thread 3, frame run_loop loop.cc:40".
std::string root_text(const TextContext& context, const NamedRoot& root);
// Of a report that is no text for a terminal.
std::string root_text(const Report& report, const NamedRoot& root);

// "Only a cycle points to it: #b316 -> #b317 -> #b316"
std::string cycle_text(const HolderChain& cycle, const NamedBlock& block);

// How a block is held, a line a step, from the root to the block.
std::vector<std::string> holder_lines(const Report& report, const Holders& holders);

// "48 B in 2 blocks"
std::string amount(const BlockCount& count);

}  // namespace heaptap::report
