// The views that list stacks: summary and top; and the bad releases.
#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "report/text_parts.h"
#include "report/text_safe.h"
#include "report/words.h"

namespace heaptap::report {
namespace {

using base::format_bytes;
using base::format_count;

std::string peak_text(const Totals& totals) {
  if (!totals.peak_known) return row_text("peak", "not known", "");
  const std::string after = totals.peak_time_known ? " after " + base::format_duration(totals.peak_time_ns) : "";
  return row_text("peak", format_bytes(totals.peak_live_bytes),
                  fmt::format("{}{}; at most {} at one time", counted(totals.peak_live_bytes, "byte"), after,
                              counted(totals.peak_live_blocks, "block")));
}

std::string totals_text(const TextContext& context) {
  const Totals& totals = context.report.totals;
  std::string text;
  text += row_text("allocations", format_count(totals.allocations), format_bytes(totals.allocated_bytes) + " in total");
  if (totals.temporary_known) {
    text += row_text("temporary", format_count(totals.temporary_allocations),
                     percent(totals.temporary_allocations, totals.allocations) + " of the allocations");
  } else {
    text += row_text("temporary", "not known", "threads were not kept apart (a larger --aggregate-memory does)");
  }
  text += row_text("releases", or_unknown(totals.live_known, format_count(totals.releases)), "");
  text += peak_text(totals);
  text +=
      totals.live_known
          ? row_text("still live", format_bytes(totals.live_bytes),
                     fmt::format("{} in {}", counted(totals.live_bytes, "byte"), counted(totals.live_blocks, "block")))
          : row_text("still live", "not known", "");
  if (totals.peak_mapped_bytes != 0) {
    text += row_text("mapped", format_bytes(totals.mapped_live_bytes),
                     fmt::format("by mmap, not counted above; at most {}", format_bytes(totals.peak_mapped_bytes)));
  }
  if (totals.unknown_releases != 0) {
    text += row_text("unknown", format_count(totals.unknown_releases),
                     context.report.capture.from_start ? "releases of blocks whose allocation was not seen"
                                                       : "releases of blocks from before the capture");
  }
  if (totals.unseen_releases != 0) {
    text += row_text("unseen", format_count(totals.unseen_releases),
                     "releases, known by the blocks' being handed out again");
  }
  const auto error = [&](const char* name, uint64_t count, const char* what) {
    if (count != 0) text += context.ink.red(row_text(name, format_count(count), what));
  };
  if (totals.bad_frees_known) {
    error("bad frees", totals.bad_releases, "of what was never allocated, or into the middle of a block");
    error("double frees", totals.double_releases, "");
  }
  error("mismatched", totals.mismatched_releases, "releases that don't fit the allocation (malloc with delete, ...)");
  return text + leak_totals_text(context);
}

std::string stack_text(const TextContext& context, const StackEntry& stack) {
  const std::string function = function_text(stack.function, stack.variant);
  const std::string live = stack.live_known ? fmt::format("{} live in {}", format_bytes(stack.live_bytes),
                                                          counted(stack.live_blocks, "block"))
                                            : "what is live is not known,";
  std::string text = "  " + context.ink.bold(fmt::format("#{}  {}", stack.id, live));
  text += fmt::format("  of {} in {} of {}", format_bytes(stack.allocated_bytes), counted(stack.allocations, "call"),
                      function);
  if (stack.times_known) text += fmt::format(", {} at the peak", format_bytes(stack.peak_bytes));
  if (stack.temporary_known && stack.temporary_allocations != 0) {
    text += fmt::format(", {} temporary", format_count(stack.temporary_allocations));
  }
  return text + "\n" + frames_text(context, stack);
}

std::string caller_text(const StackEntry& stack) {
  if (stack.purpose != Purpose::kProgram) return words_of(stack.purpose);
  return stack.frames.empty() ? "" : describe(stack.frames.front(), kNameWidth);
}

}  // namespace

std::string text_summary(const TextContext& context) {
  const Report& report = context.report;
  std::string text = title_of(context) + "\n" + totals_text(context);
  if (!report.stacks.empty()) {
    text += fmt::format("\n{}\n", context.ink.bold("Stacks by " + report.sort_key));
    text += stacks_text(context, context.rows(10), stack_text);
  }
  return text + text_errors(context) + remarks_of(context);
}

std::string text_top(const TextContext& context) {
  TextTable table({{"LIVE"},
                   {"BLOCKS"},
                   {"AT PEAK"},
                   {"TOTAL"},
                   {"CALLS"},
                   {"TEMPORARY"},
                   {"STACK", Align::kLeft},
                   {"FUNCTION", Align::kLeft},
                   {"CALLED BY", Align::kLeft}});
  const size_t shown = std::min(context.report.stacks.size(), context.rows(20));
  for (size_t index = 0; index < shown; ++index) {
    const StackEntry& stack = context.report.stacks[index];
    table.add({stack.live_known ? format_bytes(stack.live_bytes) : "?",
               stack.live_known ? format_count(stack.live_blocks) : "?",
               stack.times_known ? format_bytes(stack.peak_bytes) : "-", format_bytes(stack.allocated_bytes),
               format_count(stack.allocations), stack.temporary_known ? format_count(stack.temporary_allocations) : "?",
               fmt::format("#{}", stack.id), stack.function, caller_text(stack)});
  }
  return title_of(context) + "\n" + table.render(context.ink) + remarks_of(context);
}

std::string text_errors(const TextContext& context) {
  std::string text;
  const size_t shown = std::min(context.report.errors.size(), context.rows(20));
  for (size_t index = 0; index < shown; ++index) {
    const ErrorEntry& error = context.report.errors[index];
    text += fmt::format("\n  {}\n", context.ink.red(fmt::format("{} release by {} of {:#x}, {}", error.kind,
                                                                function_text(error.function, error.variant),
                                                                error.address, counted(error.count, "time"))));
    text += frames_text(context, error.frames);
    if (error.allocated) {
      text +=
          fmt::format("    allocated by {} ({} bytes)\n",
                      function_text(error.allocated->function, error.allocated->variant), error.allocated->size_bytes);
      text += frames_text(context, error.allocated->frames);
    }
    if (error.released) {
      text +=
          fmt::format("    first released by {}\n", function_text(error.released->function, error.released->variant));
      text += frames_text(context, error.released->frames);
    }
  }
  if (shown < context.report.errors.size()) {
    text += fmt::format("\n({} more)\n", context.report.errors.size() - shown);
  }
  return text.empty() ? text : fmt::format("\n{}\n{}", context.ink.bold("Bad releases"), text);
}

}  // namespace heaptap::report
