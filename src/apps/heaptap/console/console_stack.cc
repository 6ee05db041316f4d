// `report N` of the console: details of one stack.
#include <unistd.h>

#include <algorithm>

#include "analysis/findings/amount_text.h"
#include "analysis/findings/function_name.h"
#include "analysis/report/view.h"
#include "apps/heaptap/console/console_commands.h"
#include "common/base/safe_text.h"
#include "common/base/units.h"
#include "common/base/whole_number.h"
#include "views/text/render_text.h"
#include "views/text/text_parts.h"
#include "views/text/text_table.h"

namespace heaptap::app {
namespace {

using base::format_bytes;
using text::number_or;
using text::row_text;

// "12" or "#12".
base::Result<uint64_t> parse_stack(const shell::Words& arguments) {
  if (arguments.size() != 1)
    return base::fail_as(base::ErrorKind::kUsage, "report: no stack given: `report N`, as in `report 12`");
  std::string_view text = arguments.front();
  if (text.starts_with('#')) text.remove_prefix(1);
  if (const auto number = base::whole_number<uint64_t>(text); number && *number > 0) return *number;
  return base::fail_as(base::ErrorKind::kUsage, "'{}' is not a stack's number: `show top` lists them",
                       base::safe_text(arguments.front()));
}

std::string leaks_text(const report::StackLeaks& leaks) {
  std::string text;
  const auto row = [&](const char* name, const report::BlockCount& count) {
    if (count.blocks != 0) text += row_text(name, findings::amount(count), "");
  };
  row("definitely lost", leaks.definite);
  row("indirectly lost", leaks.indirect);
  row("possibly lost", leaks.possible);
  row("reachable", leaks.reachable);
  row("suppressed", leaks.suppressed);
  row("unknown", leaks.unknown);
  return text;
}

std::string allocated_text(const report::StackEntry& stack) {
  const std::optional<uint64_t> allocations = stack.allocations.if_known();
  if (!allocations) return "unknown";
  const std::optional<uint64_t> temporary = stack.temporary_allocations.if_known();
  return number_or("unknown", stack.allocated_bytes, format_bytes) + " in " +
         findings::counted(*allocations, "allocation") +
         (temporary ? fmt::format(", {} temporary", base::format_count(*temporary)) : "");
}

std::string stack_text(const report::Report& report, const report::StackEntry& stack, bool color) {
  const text::RenderOptions options{.color = color,
                                    .frames = {.full_names = true, .full_paths = true, .full_stacks = true}};
  const text::TextContext context{report, options, text::Ink(color),
                                  findings::FrameText(report.frames, report.skipped, options.frames)};
  std::string text = context.ink.bold(fmt::format("#{}", stack.id)) + "  by " +
                     findings::function_text(stack.function, stack.variant) + "\n";
  const std::optional<uint64_t> live_blocks = stack.live_blocks.if_known();
  const std::string blocks = live_blocks ? " in " + findings::counted(*live_blocks, "block") : "";
  const std::string live = number_or("unknown", stack.live_bytes, format_bytes);
  text += row_text("not freed", live + blocks, "");
  text += row_text("at the peak", number_or("unknown", stack.peak_bytes, format_bytes), "");
  text += row_text("allocated", allocated_text(stack), "");
  if (stack.leaks) text += leaks_text(*stack.leaks);
  return text + text::frames_text(context, stack);
}

}  // namespace

base::Result<> report_stack(ConsoleSession& session, const shell::Words& arguments) {
  const auto number = parse_stack(arguments);
  if (!number) return std::unexpected(number.error());
  ShowOptions options;
  fill_in(session.settings, {}, options);
  options.query.listing.frames.depth = 0;
  options.query.listing.stack_ids = {*number};  // names of the others aren't needed
  options.query.counting.statistics = false;
  auto report = session.report_for(options, options.query);
  if (!report) return std::unexpected(std::move(report).error());
  if (report->stacks.empty()) return base::fail("no stack #{}: `show top` lists stacks", *number);
  const report::StackEntry* const stack = &report->stacks.front();
  HEAPTAP_TRY(session.print(stack_text(*report, *stack, use_color(session.settings.color, STDOUT_FILENO)), false));
  // Blocks of a leak scan have holders.
  if (!stack->leaks || stack->live_blocks.counted() == 0) return {};
  HEAPTAP_TRY(session.print("\n", false));
  options.view = report::View::kHolders;
  options.query.listing.stack_ids.clear();
  options.query.listing.stacks = false;
  options.query.leaks.why = query::BlockQuestion{.by = query::BlockQuestion::By::kStack, .value = *number};
  return show(options, [&](const query::Query& query) { return session.report_for(options, query); });
}

}  // namespace heaptap::app
