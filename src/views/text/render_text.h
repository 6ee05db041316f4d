// Text views of a Report. Output is deterministic.
#pragma once
#include <cstddef>
#include <string>

#include "analysis/findings/frame_text.h"
#include "analysis/report/chosen_memory.h"
#include "analysis/report/report.h"
#include "analysis/report/view.h"

namespace heaptap::text {

struct RenderOptions {
  bool color = false;                               // text: with colours
  bool bottom_up = false;                           // tree: from the allocating functions to their callers
  size_t limit = 0;                                 // text: rows of a list; 0: the view's default
  bool all_processes = false;                       // end summary: a line for each process, however many
  size_t width = 80;                                // text: of the terminal, in columns; 0: unlimited
  report::Memory memory = report::Memory::kMalloc;  // tree: what the report's stacks are of
  findings::FrameTextOptions frames = {};
};

std::string render_text(const report::Report& report, report::View view, const RenderOptions& options);

// End of `heaptap run`: at most 12 lines. `told`: report of the process whose leaks or memory are told in place of the first one's
// (report::leaking_of_run, or else largest_of_run); null: the first one's. `mapper`: of the process whose mapped memory is told as
// well (report::mapper_of_run).
std::string render_end_summary(const report::Report& report, const RenderOptions& options,
                               const report::Report* told = nullptr, const report::Report* mapper = nullptr);

}  // namespace heaptap::text
