// report_alone: renders a report that nobody analysed. To show reports, `text` and `json` and what they name are
// enough: no traces, no debug information.
#include <cstdio>

#include "analysis/report/view.h"
#include "views/json/render_json.h"
#include "views/text/render_text.h"

using namespace heaptap;

int main() {
  report::Report report;
  report.capture.command = {"./made_up"};
  report.capture.ended = true;
  report.capture.exit.code = 0;
  report.capture.notes = {{.kind = model::NoteKind::kStackTableFull}};
  report.totals.allocations = 3;
  report.totals.live_blocks = 1;
  report.totals.live_bytes = 48;
  report::StackEntry& stack = report.stacks.emplace_back();
  stack.id = 1;
  stack.function = "malloc";
  stack.allocations = 3;
  stack.live_blocks = 1;
  stack.live_bytes = 48;
  model::Frame frame;
  frame.function = "make_node(int)";
  frame.file = "/src/node.cc";
  frame.line = 12;
  report.frames.push_back(frame);
  stack.frames = report.frames.add({0});
  report.stack_count = 1;
  std::fputs(text::render_text(report, report::View::kSummary, {}).c_str(), stdout);
  std::fputs(json::render_json(report, report::View::kSummary).c_str(), stdout);
  return 0;
}
