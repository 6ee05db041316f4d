// Text views of stacks: summary and top; and of bad releases.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/findings/amount_text.h"
#include "analysis/findings/capture_text.h"
#include "analysis/findings/function_name.h"
#include "analysis/findings/mapped_text.h"
#include "analysis/findings/note_text.h"
#include "analysis/findings/outcome.h"
#include "analysis/findings/resident_text.h"
#include "analysis/findings/sampling_text.h"
#include "analysis/findings/site_rows.h"
#include "analysis/findings/words.h"
#include "analysis/report/process_sums.h"
#include "common/base/units.h"
#include "views/text/text_parts.h"
#include "views/text/text_table.h"

namespace heaptap::text {
namespace {

using base::format_bytes;
using base::format_count;

// Of a run: processes have their peaks at different times.
std::string largest_peak_text(const report::Report& report) {
  const std::string process = findings::peak_process_text(report);
  if (process.empty()) return row_text("peak", "unknown", "");
  return row_text("peak", format_bytes(report::peak_of(report).counted()),
                  fmt::format("of {}, the largest of one process{}{}; unknown of all together", process,
                              report::peak_of(report).is_known() ? "" : " that is known",
                              findings::bytes_error_text(report::peak_error_of(report))));
}

std::string peak_text(const report::Totals& totals) {
  const std::optional<uint64_t> bytes = totals.peak_live_bytes.if_known();
  if (!bytes) return row_text("peak", "unknown", "");
  const std::optional<uint64_t> time_ns = totals.peak_time_ns.if_known();
  const std::string after = time_ns ? " after " + base::format_duration(*time_ns) : "";
  return row_text("peak", format_bytes(*bytes),
                  fmt::format("{}{}{}; at most {}{} at one time", findings::counted(*bytes, "byte"),
                              findings::error_text(totals.peak_error_bytes), after,
                              findings::counted(totals.peak_live_blocks.counted(), "block"),
                              findings::error_text(totals.peak_error_blocks)));
}

std::string bytes_text(uint64_t bytes) { return findings::counted(bytes, "byte"); }

// Where bytes alone are told.
std::string bytes_alone_text(const TextContext& context) {
  const report::Totals& totals = context.report.totals;
  const std::string after =
      findings::is_peak_placed(context.report)
          ? " after " + findings::moment_text(context.report.capture, totals.peak_time_ns.counted())
          : std::string();
  return row_text("allocations", "unknown", "") +
         row_text("peak", number_or("unknown", totals.peak_live_bytes, format_bytes),
                  totals.peak_live_bytes.is_known() ? number_or("", totals.peak_live_bytes, bytes_text) + after : "") +
         row_text("not freed", number_or("unknown", totals.live_bytes, format_bytes),
                  number_or("", totals.live_bytes, bytes_text));
}

std::string pools_text(const report::Totals& totals) {
  std::string text;
  if (totals.pool_allocations.counted() != 0) {
    text += row_text("in pools", format_bytes(totals.pool_live_bytes.counted()),
                     fmt::format("{} not freed in pools of the program, within what is counted above",
                                 findings::counted(totals.pool_live_blocks.counted(), "block")));
  }
  if (const uint64_t open = totals.open_resources.counted(); open != 0)
    text += row_text("open", format_count(open), "resources reported by the program");
  if (const uint64_t unknown = totals.unknown_pool_releases.counted(); unknown != 0)
    text += row_text("unknown", format_count(unknown), "releases of unknown blocks in pools");
  return text;
}

// As counted by page where that was done at the end; else as last sampled.
std::string resident_text(const report::Totals& totals) {
  if (!totals.resident) return "";
  const report::Resident& resident = *totals.resident;
  const auto& counted = totals.resident_parts;
  const bool is_counted = counted && counted->at_end;
  const std::string parts = is_counted ? findings::resident_parts(*counted) : findings::resident_parts(resident);
  return row_text(
             "resident", format_bytes(is_counted ? counted->bytes : resident.bytes),
             fmt::format("in RAM after {}{}{}", base::format_duration(is_counted ? counted->time_ns : resident.time_ns),
                         parts.empty() ? "" : ": ", parts)) +
         row_text("peak resident", format_bytes(resident.peak_bytes),
                  resident.is_peak_exact ? "" : "as sampled: it may have been more in between");
}

std::string unseen_text(const TextContext& context) {
  const report::Totals& totals = context.report.totals;
  std::string text;
  if (const uint64_t unknown = totals.unknown_releases.counted(); unknown != 0) {
    text += row_text("unknown", format_count(unknown),
                     context.report.capture.from_start ? "releases of blocks whose allocation was not seen"
                                                       : "releases of blocks from before the recording");
  }
  if (const uint64_t unseen = totals.unseen_releases.counted(); unseen != 0)
    text += row_text("unseen", format_count(unseen), "releases, inferred since the address was allocated again");
  return text;
}

std::string errors_text(const TextContext& context) {
  const report::Totals& totals = context.report.totals;
  std::string text;
  const auto error = [&](const char* name, const base::Known<uint64_t>& number, const char* what) {
    const uint64_t count = number.if_known().value_or(0);
    if (count != 0) text += context.ink.red(row_text(name, format_count(count), what));
  };
  error("invalid frees", totals.bad_releases, "of addresses never allocated, or inside a block");
  error("double frees", totals.double_releases, "");
  error("mismatched frees", totals.mismatched_releases.counted(),
        "the function doesn't match the allocation (malloc, delete)");
  return text;
}

std::string totals_text(const TextContext& context) {
  const report::Totals& totals = context.report.totals;
  std::string text;
  if (context.report.capture.is_of_core()) return leak_totals_text(context);  // it has no calls to be counted
  const std::optional<uint64_t> allocations = totals.allocations.if_known();
  if (!allocations) return bytes_alone_text(context);
  const uint64_t interval = context.report.capture.sample_interval;
  text += row_text("allocations", format_count(*allocations),
                   number_or("unknown", totals.allocated_bytes, format_bytes) + " in total" +
                       findings::bounds_behind(findings::bounds_text(totals.allocated_bytes.counted(), interval)));
  if (const std::string calls = findings::counted_calls_text(context.report); !calls.empty())
    text += row_text("", "", "all calls, counted: " + calls);
  const std::optional<uint64_t> temporary = totals.temporary_allocations.if_known();
  if (!temporary && interval != 0) {
    text += row_text("temporary", "unknown", "only samples were recorded");
  } else if (!temporary) {
    text += row_text("temporary", "unknown", "threads were not kept apart (use a larger --aggregate-memory)");
  } else if (*temporary != 0) {
    text += row_text("temporary", format_count(*temporary), percent(*temporary, *allocations) + " of the allocations");
  }
  text += row_text("releases", number_or("unknown", totals.releases, format_count), "");
  const bool has_peak = totals.peak_live_bytes.is_known();
  text += context.report.of_run && !has_peak ? largest_peak_text(context.report) : peak_text(totals);
  const std::optional<uint64_t> live_bytes = totals.live_bytes.if_known();
  text += live_bytes ? row_text("not freed", format_bytes(*live_bytes),
                                fmt::format("{} in {}{}", findings::counted(*live_bytes, "byte"),
                                            findings::counted(totals.live_blocks.counted(), "block"),
                                            findings::bounds_behind(findings::bounds_text(*live_bytes, interval))))
                     : row_text("not freed", "unknown", "");
  for (const findings::MappedFact& fact : findings::mapped_facts(totals))
    text += row_text(fact.name, fact.amount, fact.what);
  return text + resident_text(totals) + pools_text(totals) + unseen_text(context) + errors_text(context) +
         leak_totals_text(context);
}

std::string live_text(const report::StackEntry& stack, uint64_t sample_interval) {
  if (!stack.live_bytes.is_known()) return "not freed: unknown";
  const std::optional<uint64_t> blocks = stack.live_blocks.if_known();
  if (stack.live_bytes == 0 && blocks.value_or(0) == 0) return "all freed";
  const uint64_t bytes = stack.own_live_bytes().counted();
  return fmt::format("{}{}{} not freed{}", format_bytes(bytes),
                     stack.is_apart() ? "" : findings::bounds_behind(findings::bounds_text(bytes, sample_interval)),
                     blocks ? " in " + findings::counted(*blocks, "block") : "", findings::mapped_behind(stack));
}

std::string stack_text(const TextContext& context, const report::StackEntry& stack) {
  const std::string function = findings::function_text(stack.function, stack.variant);
  std::string text = "  " + context.ink.bold(fmt::format("#{}  {}", stack.id,
                                                         live_text(stack, context.report.capture.sample_interval)));
  if (const auto allocations = stack.allocations.if_known()) {
    text += fmt::format("  of {} in {} of {}", number_or("?", stack.allocated_bytes, format_bytes),
                        findings::counted(*allocations, "call"), function);
  }
  if (const auto bytes = stack.own_peak_bytes().if_known()) {
    text += fmt::format(", {} at the peak", format_bytes(*bytes));
  }
  if (stack.growth) text += fmt::format(", {} in the window", findings::signed_bytes(stack.growth->bytes));
  if (const uint64_t temporary = stack.temporary_allocations.if_known().value_or(0); temporary != 0) {
    text += fmt::format(", {} temporary", format_count(temporary));
  }
  return text + "\n" + frames_text(context, stack);
}

std::string crash_text(const TextContext& context) {
  const report::Report& report = context.report;
  if (!report.crash) return "";
  std::string title = "Crash: " + findings::ending_text(report.capture);
  if (report.crash->thread != 0) title += fmt::format(" in thread {}", report.crash->thread);
  std::string text = context.ink.bold(title) + "\n\n" + frames_text(context, report.list(report.crash->frames));
  if (const std::string ending = findings::ending_of(*report.crash); !ending.empty())
    text += "      " + context.ink.dim("(stack ends here: " + ending + ")") + "\n";
  return text + "\n";
}

}  // namespace

std::string text_summary(const TextContext& context) {
  const report::Report& report = context.report;
  std::string text = title_of(context) + "\n";
  if (report.of_run) text += processes_text(context) + "\n";
  text += crash_text(context) + totals_text(context);
  if (!report.stacks.empty()) {
    text += fmt::format("\n{}\n", context.ink.bold("Stacks by " + findings::words_of_sort(report.sort_key)));
    const ListedStacks listed = listed_stacks(context, context.rows(10));
    text += stacks_text(context, listed.stacks, listed.folded, stack_text);
    // With a scan the totals have them.
    if (!listed.of_libraries.empty() && !report.leaks.scanned)
      text += "\n" + context.ink.dim(listed.of_libraries) + "\n";
  }
  text += text_errors(context);
  const std::vector<std::string> faults = findings::program_faults(report.leaks.scan.notes);
  if (!faults.empty()) text += "\n";
  for (const std::string& fault : faults) text += context.ink.yellow("! " + fault) + "\n";
  return text + remarks_of(context);
}

std::string text_top(const TextContext& context) {
  std::vector<TextTable::Column> columns{{"NOT FREED"},
                                         {"BLOCKS"},
                                         {"AT PEAK"},
                                         {"TOTAL"},
                                         {"CALLS"},
                                         {"TEMPORARY"},
                                         {"FUNCTION", Align::kLeft},
                                         {"STACK AND SITE", Align::kLeft}};
  const bool has_growth = context.report.window && context.report.window->has_older;
  if (has_growth) columns.insert(columns.begin(), {"GROWTH"});
  const uint64_t interval = context.report.capture.sample_interval;
  const auto bounds_of = [&context, interval](const report::StackEntry& stack) -> std::string {
    const std::string& key = context.report.sort_key;
    if (stack.is_apart()) return {};
    if (key == "peak") return findings::peak_bounds_text(stack.own_peak_bytes().counted(), context.report.totals);
    const auto bytes = key == "total" ? stack.own_allocated_bytes() : stack.own_live_bytes();
    return findings::bounds_text(bytes.counted(), interval);
  };
  if (interval != 0) columns.insert(columns.end() - 2, {"WITH 95 %"});
  TextTable table(std::move(columns), context.options.width);
  const ListedStacks listed = listed_stacks(context, context.rows(20));
  for (const findings::SiteRow& row :
       findings::merge_sites(context.text, context.report.frames, listed.stacks, context.report.sort_key)) {
    const report::StackEntry& stack = row.sum;
    std::vector<std::string> cells = {
        number_or("?", stack.own_live_bytes(), format_bytes),
        number_or("?", stack.live_blocks, format_count),
        number_or("-", stack.own_peak_bytes(), format_bytes),
        number_or("?", stack.own_allocated_bytes(), format_bytes),
        number_or("?", stack.allocations, format_count),
        number_or("?", stack.temporary_allocations, format_count),
        stack.function,
        findings::site_line(context.text, context.report.frames, row, TextTable::room_below(context.options.width))};
    if (has_growth) cells.insert(cells.begin(), stack.growth ? findings::signed_bytes(stack.growth->bytes) : "-");
    if (interval != 0) {
      const std::string bounds = bounds_of(stack);
      cells.insert(cells.end() - 2, bounds.empty() ? "-" : bounds);
    }
    table.add(std::move(cells));
  }
  const std::string heading = context.ink.bold("Stacks by " + findings::words_of_sort(context.report.sort_key));
  const std::string of_libraries =
      listed.of_libraries.empty() ? "" : "\n" + context.ink.dim(listed.of_libraries) + "\n";
  return fmt::format("{}\n{}\n\n{}{}{}{}", title_of(context), heading, table.render(context.ink),
                     peak_process_line(context), of_libraries, remarks_of(context));
}

std::string text_errors(const TextContext& context) {
  std::string text;
  const size_t shown = std::min(context.report.errors.size(), context.rows(20));
  for (size_t index = 0; index < shown; ++index) {
    const report::ErrorEntry& error = context.report.errors[index];
    const std::string count = error.count == 1 ? "" : ", " + findings::counted(error.count, "time");
    text += fmt::format("\n  {}\n", context.ink.red(fmt::format(
                                        "{} of {:#x} by {}{}", findings::words_of_error(error.kind), error.address,
                                        findings::function_text(error.function, error.variant), count)));
    text += frames_text(context, context.report.list(error.frames));
    if (error.allocated) {
      text += fmt::format("    allocated by {} ({} bytes)\n",
                          findings::function_text(error.allocated->function, error.allocated->variant),
                          error.allocated->size_bytes);
      text += frames_text(context, context.report.list(error.allocated->frames));
    }
    if (error.released) {
      text += fmt::format("    first released by {}\n",
                          findings::function_text(error.released->function, error.released->variant));
      text += frames_text(context, context.report.list(error.released->frames));
    }
  }
  if (shown < context.report.errors.size()) {
    text += fmt::format("\n({} more)\n", context.report.errors.size() - shown);
  }
  if (std::ranges::any_of(context.report.errors, findings::has_short_release)) {
    text += fmt::format("\n{}\n", context.ink.dim(fmt::format("({})", findings::kShortReleases)));
  }
  return text.empty() ? text : fmt::format("\n{}\n{}", context.ink.bold("Invalid, double and mismatched frees"), text);
}

}  // namespace heaptap::text
