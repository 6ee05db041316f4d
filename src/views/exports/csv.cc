// CSV (RFC 4180) of the stacks, a line each, with their totals; an unknown number is an empty cell. A cell that a spreadsheet would
// take for a formula starts with an apostrophe.
#include <fmt/format.h>

#include <string>
#include <string_view>

#include "analysis/findings/telling_frame.h"
#include "analysis/report/label_sums.h"
#include "analysis/report/view.h"
#include "common/base/safe_text.h"
#include "views/exports/finding_writers.h"
#include "views/exports/frame_text.h"

namespace heaptap::exports {
namespace {

constexpr std::string_view kHead =
    "id,function,variant,mapping,allocations,frees,allocated_bytes,live_blocks,live_bytes,peak_bytes,temporary_"
    "allocations,"
    "definite_blocks,definite_bytes,indirect_blocks,indirect_bytes,possible_blocks,possible_bytes,caller,file,line,"
    "stack,pooled,pool,tags,reserved_bytes\r\n";

class CsvRow {
 public:
  void text(std::string_view value) {
    std::string cell = base::safe_text(value);
    if (!cell.empty() && std::string_view("=+-@").contains(cell.front())) cell.insert(0, 1, '\'');
    std::string quoted = "\"";
    for (const char character : cell) quoted += character == '"' ? "\"\"" : std::string(1, character);
    add(quoted + "\"");
  }
  void number(const base::Known<uint64_t>& value) { add(value.is_known() ? fmt::format("{}", value.counted()) : ""); }
  void number(bool is_known, uint64_t value) { number({value, is_known}); }
  void count(const report::ScannedLeaks& leaks, report::BlockCount report::StackLeaks::* member) {
    const report::BlockCount value = (*leaks).*member;
    number(bool(leaks), value.blocks);
    number(bool(leaks), value.bytes);
  }
  std::string finish() { return std::move(line_) + "\r\n"; }

 private:
  void add(const std::string& cell) {
    if (!is_first_) line_ += ',';
    is_first_ = false;
    line_ += cell;
  }

  std::string line_;
  bool is_first_ = true;
};

std::string row_of(const report::Report& report, const report::StackEntry& stack) {
  CsvRow row;
  row.number(stack.id);
  row.text(stack.function);
  row.text(stack.variant);
  row.number(stack.mapping ? 1 : 0);
  row.number(stack.allocations);
  row.number(stack.releases);
  row.number(stack.allocated_bytes);
  row.number(stack.live_blocks);
  row.number(stack.live_bytes);
  row.number(stack.peak_bytes);
  row.number(stack.temporary_allocations);
  row.count(stack.leaks, &report::StackLeaks::definite);
  row.count(stack.leaks, &report::StackLeaks::indirect);
  row.count(stack.leaks, &report::StackLeaks::possible);
  const report::FrameList frames = report.list(stack.frames);
  const model::Frame* const frame = findings::telling_frame(frames);
  row.text(frame == nullptr ? "" : name_of(*frame));
  row.text(frame == nullptr ? "" : frame->file);
  row.number(frame != nullptr && frame->line != 0, frame == nullptr ? 0 : frame->line);
  std::string callers;
  for (const model::Frame& each : frames) callers += (callers.empty() ? "" : " < ") + name_of(each);
  row.text(callers);
  row.number(stack.pooled ? 1 : 0);
  row.text(stack.rare->pool);
  row.text(report::path_of_tags(stack.rare->tags));
  row.number(stack.reserved_bytes());
  return row.finish();
}

}  // namespace

base::Result<> write_csv(const report::Report& report, const report::Write& write) {
  write(kHead);
  for (const report::StackEntry& stack : report.stacks) write(row_of(report, stack));
  return {};
}

}  // namespace heaptap::exports
