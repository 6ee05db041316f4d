// Processes of a run: by process, or by program.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/findings/amount_text.h"
#include "analysis/findings/capture_text.h"
#include "analysis/findings/mapped_text.h"
#include "analysis/report/process_sums.h"
#include "common/base/safe_text.h"
#include "common/base/units.h"
#include "views/text/text_parts.h"
#include "views/text/text_table.h"

namespace heaptap::text {
namespace {

using base::format_bytes;
using base::format_count;

constexpr size_t kProcessRows = 10;

report::BlockCount lost_of(const report::BlockCount& definite, const report::BlockCount& indirect) {
  return report::BlockCount(definite) += indirect;
}

bool has_images(const std::vector<report::ProcessEntry>& processes) {
  return std::ranges::any_of(processes, [](const report::ProcessEntry& process) { return process.image > 1; });
}

// Whether any of them mapped more than its blocks had.
bool has_mapped(const std::vector<report::ProcessEntry>& processes) {
  return std::ranges::any_of(processes, [](const report::ProcessEntry& process) {
    return process.failure.empty() && report::mapped_leads(process.totals, process.totals.peak_live_bytes.counted());
  });
}

std::string mapped_peak(const report::Totals& totals) {
  return totals.mapped.are_known() ? format_bytes(totals.mapped.memory.peak_bytes) : "?";
}

struct ProcessColumns {
  bool image = false;
  bool mapped = false;
};

std::vector<std::string> row_of(const report::ProcessEntry& process, ProcessColumns with) {
  const model::Capture& capture = process.capture;
  std::vector<std::string> row{findings::program_of(capture), fmt::format("{}", capture.pid)};
  if (with.image) row.push_back(process.image == 0 ? "?" : fmt::format("{}", process.image));
  const std::string trace = base::safe_text(process.trace_path);
  if (!process.failure.empty()) {
    row.insert(row.end(), {"?", "?", "?"});
    if (with.mapped) row.emplace_back("?");
    row.insert(row.end(), {"can't be read", trace});
    return row;
  }
  const report::BlockCount lost = lost_of(process.leaks.definite, process.leaks.indirect);
  const bool has_leaks = process.leaks.scanned;
  const std::string at_least = process.known.leaks ? "" : ">= ";
  const char* const none = capture.executed ? "-" : "?";
  row.push_back(number_or("?", process.totals.peak_live_bytes, format_bytes) +
                findings::bytes_error_text(process.totals.peak_error_bytes));
  if (with.mapped) row.push_back(mapped_peak(process.totals));
  row.insert(row.end(), {has_leaks ? at_least + format_bytes(lost.bytes) : none,
                         has_leaks ? at_least + format_count(lost.blocks) : none, findings::exit_text(capture), trace});
  return row;
}

std::vector<std::string> row_of(const report::ProgramEntry& program) {
  const report::ProcessSums sums = report::sum_of(program.processes);
  const report::BlockCount lost = lost_of(sums.definite, sums.indirect);
  const char* const at_least = sums.unscanned + sums.uncertain + sums.failed != 0 ? ">= " : "";
  return {
      base::safe_text(program.program),
      format_count(program.processes.size()),
      (sums.failed != 0 ? ">= " : "") + format_count(sums.allocations),
      sums.largest_peak ? format_bytes(*sums.largest_peak) + findings::bytes_error_text(sums.largest_peak_error) : "?",
      at_least + format_bytes(lost.bytes),
      at_least + format_count(lost.blocks)};
}

}  // namespace

std::string processes_text(const TextContext& context) {
  const ProcessColumns with{has_images(context.report.processes), has_mapped(context.report.processes)};
  std::vector<TextTable::Column> columns{{"PROGRAM", Align::kLeft}, {"PID"}};
  if (with.image) columns.push_back({"IMAGE"});
  columns.push_back({"PEAK"});
  if (with.mapped) columns.push_back({"MAPPED"});
  columns.insert(columns.end(), {{"LEAKED"}, {"BLOCKS"}, {"END", Align::kLeft}, {"TRACE", Align::kLeft}});
  TextTable table(std::move(columns), context.options.width);
  const std::vector<const report::ProcessEntry*> processes = report::largest_first(context.report.processes);
  const size_t shown = std::min(processes.size(), context.rows(kProcessRows));
  for (size_t i = 0; i < shown; ++i) table.add(row_of(*processes[i], with));
  return table.render(context.ink) + more_rows(context, shown, processes.size(), "trace");
}

std::string text_processes(const TextContext& context) {
  return title_of(context) + "\n" + processes_text(context) + remarks_of(context);
}

std::string text_programs(const TextContext& context) {
  TextTable table({{"PROGRAM", Align::kLeft}, {"PROCESSES"}, {"ALLOCATIONS"}, {"LARGEST PEAK"}, {"LEAKED"}, {"BLOCKS"}},
                  context.options.width);
  const std::vector<report::ProgramEntry> programs = report::programs_of(context.report.processes);
  const size_t shown = std::min(programs.size(), context.rows(kProcessRows));
  for (size_t i = 0; i < shown; ++i) table.add(row_of(programs[i]));
  return title_of(context) + "\n" + table.render(context.ink) + more_rows(context, shown, programs.size(), "program") +
         remarks_of(context);
}

}  // namespace heaptap::text
