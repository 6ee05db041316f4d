#include "views/text/end_sites.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "analysis/findings/amount_text.h"
#include "analysis/findings/label_text.h"
#include "analysis/findings/outcome.h"
#include "analysis/findings/site_rows.h"
#include "analysis/findings/words.h"
#include "analysis/report/focus.h"
#include "analysis/report/leak_weight.h"
#include "common/base/units.h"

namespace heaptap::text {
namespace {

constexpr size_t kLeastSiteRoom = 24;
constexpr uint64_t kWholeOverTold = 20;  // less than a twentieth explains nothing

std::string site_behind(std::string begin, const report::Report& report, const findings::FrameText& text,
                        const findings::SiteRow& row, size_t width) {
  begin += fmt::format("{}  ", findings::ids_text(row));
  std::string labels = findings::labels_behind(row.sum);
  const std::string purpose = findings::words_of(row.sum.purpose);
  if (!purpose.empty()) labels += " (" + purpose + ")";
  const size_t room = width == 0 ? 0 : std::max(kLeastSiteRoom, width - std::min(width, begin.size() + labels.size()));
  return begin + text.describe_site(report.list(row.sum.frames), room) + labels;
}

// The blocks that a stack's line is about: its leaks if a scan found some, else its live blocks.
report::BlockCount listed_of(const report::Report& report, const report::StackEntry& stack) {
  if (!report::leaks_lead(report.totals, report.leaks) || !stack.leaks)
    return {stack.live_blocks.counted(), stack.live_bytes.counted()};
  return stack.leaks->definite.blocks != 0 ? report::BlockCount(stack.leaks->definite) += stack.leaks->below
                                           : stack.leaks->possible;
}

// Live bytes without those that system libraries keep for themselves.
uint64_t programs_bytes(const report::Report& report) {
  uint64_t kept = 0;
  for (const report::StackEntry& stack : report.stacks) {
    if (stack.purpose != report::Purpose::kProgram && !stack.is_apart()) kept += stack.live_bytes.counted();
  }
  const uint64_t live = report.totals.live_bytes.counted();
  return live - std::min(live, kept);
}

using IsMeant = bool (*)(const report::StackEntry&);

// Sites of those stacks alone.
std::vector<findings::SiteRow> sites_with(const report::Report& report, const findings::FrameText& text,
                                          IsMeant is_meant) {
  std::vector<report::StackEntry> stacks;
  std::ranges::copy_if(report.stacks, std::back_inserter(stacks), is_meant);
  return findings::merge_sites(text, report.frames, stacks, report.sort_key);
}

bool leaks(const report::StackEntry& stack) { return stack.leaks && stack.leaks->may_be_lost(); }

report::BlockCount reachable_of(const report::StackEntry& stack) {
  return stack.leaks ? stack.leaks->reachable : report::BlockCount();
}
bool is_reachable(const report::StackEntry& stack) { return reachable_of(stack).blocks != 0; }

// Of leaks, where they aren't simply lost.
const char* state_of(const report::StackEntry& stack) {
  if (!stack.leaks) return "";
  if (stack.leaks->definite.blocks == 0) return " (possibly)";
  if (stack.leaks->in_cycles.blocks == 0) return "";
  return stack.leaks->in_cycles.blocks == 1 ? " (in a cycle)" : " (in cycles)";
}

}  // namespace

std::vector<std::string> held_lines(const report::Report& report, const findings::FrameText& text, size_t most,
                                    size_t width) {
  const bool are_leaks = report::leaks_lead(report.totals, report.leaks);
  if (!are_leaks && report::focus_of(report) != report::Focus::kLive) return {};
  std::vector<std::string> lines;
  std::string last_holder;
  const uint64_t least = programs_bytes(report) / kWholeOverTold;
  std::vector<findings::SiteRow> rows =
      are_leaks ? sites_with(report, text, leaks)
                : findings::merge_sites(text, report.frames, report.stacks, report.sort_key);
  // Those for certain first.
  std::ranges::stable_sort(rows, std::greater<>(), [&](const findings::SiteRow& row) {
    const bool is_certain = are_leaks && row.sum.leaks && row.sum.leaks->definite.blocks != 0;
    return std::pair(is_certain, listed_of(report, row.sum).bytes);
  });
  for (const findings::SiteRow& row : rows) {
    if (lines.size() >= most) break;
    const report::StackEntry& stack = row.sum;
    const report::BlockCount count = listed_of(report, stack);
    const bool counts = are_leaks ? !stack.mapping : !stack.is_apart();  // leaks of pools do
    if (!counts || count.blocks == 0 || !stack.live_bytes.is_known()) continue;
    if (!are_leaks && stack.purpose != report::Purpose::kProgram) continue;
    if (!are_leaks && count.bytes < least) continue;
    const std::string bytes = are_leaks ? findings::counted(count.bytes, "byte") : base::format_bytes(count.bytes);
    lines.push_back(site_behind(fmt::format("  {} in {}{}  ", bytes, findings::counted(count.blocks, "block"),
                                            are_leaks ? state_of(stack) : ""),
                                report, text, row, width));
    const std::string holder = are_leaks && stack.leaks ? findings::held_until_exit_text(*stack.leaks) : "";
    if (holder.empty() || holder == last_holder) continue;
    lines.push_back("    " + holder);
    last_holder = holder;
  }
  if (lines.size() > most) lines.resize(most);
  return lines;
}

std::vector<std::string> reachable_lines(const report::Report& report, const findings::FrameText& text, size_t most,
                                         size_t width) {
  const bool is_about_live = report::focus_of(report) == report::Focus::kLive;
  if (!is_about_live || !report::reachable_outweighs(report.totals, report.leaks)) return {};
  std::vector<findings::SiteRow> rows = sites_with(report, text, is_reachable);
  std::ranges::stable_sort(rows, std::greater<>(),
                           [](const findings::SiteRow& row) { return reachable_of(row.sum).bytes; });
  const uint64_t least = programs_bytes(report) / kWholeOverTold;
  std::vector<std::string> lines;
  for (const findings::SiteRow& row : rows) {
    const report::BlockCount count = reachable_of(row.sum);
    if (lines.size() >= most || count.bytes < least) break;
    if (row.sum.is_apart() || row.sum.purpose != report::Purpose::kProgram) continue;
    lines.push_back(site_behind(
        fmt::format("  {} in {}  ", base::format_bytes(count.bytes), findings::counted(count.blocks, "block")), report,
        text, row, width));
  }
  return lines;
}

std::vector<std::string> past_lines(const report::Report& report, const findings::FrameText& text, size_t most,
                                    size_t width) {
  const report::Focus focus = report::focus_of(report);
  if (focus == report::Focus::kLive) return {};
  const bool is_peak = focus == report::Focus::kPeak;
  const uint64_t whole = report::whole_of(focus, report);
  std::vector<std::string> lines;
  for (const findings::SiteRow& row :
       findings::merge_sites(text, report.frames, report.stacks, is_peak ? "peak" : "temporary")) {
    if (lines.size() >= most) break;
    const report::StackEntry& stack = row.sum;
    const uint64_t part = report::part_of(focus, stack);
    if (stack.is_apart() || stack.purpose != report::Purpose::kProgram || part == 0 || part < whole / kWholeOverTold)
      continue;
    lines.push_back(site_behind(is_peak ? fmt::format("  {} of the peak: ", base::format_bytes(part))
                                        : fmt::format("  {}: ", findings::counted(part, "temporary allocation")),
                                report, text, row, width));
  }
  return lines;
}

std::vector<std::string> mapped_lines(const report::Report& report, const findings::FrameText& text, size_t most,
                                      size_t width) {
  if (!report.totals.mapped.are_known()) return {};
  std::vector<report::StackEntry> stacks;
  std::ranges::copy_if(report.stacks, std::back_inserter(stacks),
                       [](const report::StackEntry& stack) { return stack.rare->mapped_peak_bytes != 0; });
  std::vector<findings::SiteRow> rows = findings::merge_sites(text, report.frames, stacks, "");
  std::ranges::stable_sort(rows, std::greater<>(),
                           [](const findings::SiteRow& row) { return row.sum.rare->mapped_peak_bytes; });
  const uint64_t least = report.totals.mapped.memory.peak_bytes / kWholeOverTold;
  std::vector<std::string> lines;
  for (const findings::SiteRow& row : rows) {
    if (lines.size() >= most || row.sum.rare->mapped_peak_bytes < least) break;
    const std::string amount = base::format_bytes(row.sum.rare->mapped_peak_bytes);
    lines.push_back(site_behind(fmt::format("  {} of the mapped peak: ", amount), report, text, row, width));
  }
  return lines;
}

}  // namespace heaptap::text
