// Blocks and roots of a leak scan, one line each; safe for a terminal.
#pragma once
#include <string>
#include <vector>

#include "analysis/findings/frame_text.h"
#include "analysis/report/leak_views.h"
#include "analysis/report/report.h"

namespace heaptap::findings {

// Name of a type or variable, shortened.
std::string short_safe(const std::string& name);

// "#b12  48 B  Node  by operator new from make_node app.cpp:9 (stack #3)"
std::string block_text(const FrameText& frames, const report::NamedBlock& block);
// For a row of a table: "#b12  48 B  Node  #3 make_node app.cpp:9"
std::string short_block_text(const FrameText& frames, const report::NamedBlock& block);

// "global cache (app.cpp:12) +16", "stack of thread 3, frame run_loop loop.cc:40".
std::string root_text(const FrameText& frames, const report::NamedRoot& root);
// For a report that isn't terminal text.
std::string root_text(const report::Report& report, const report::NamedRoot& root);

// "#b316 -> #b317 -> #b316"; of a long one the first and last blocks.
std::string ring_text(const std::vector<uint64_t>& cycle);

// "Only a cycle points to it: #b316 -> #b317 -> #b316"
std::string cycle_text(const report::HolderChain& cycle, const report::NamedBlock& block);

// Path from the root to the block, a line per step.
std::vector<std::string> holder_lines(const report::Report& report, const report::Holders& holders);

}  // namespace heaptap::findings
