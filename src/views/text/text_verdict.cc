#include "views/text/text_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "analysis/findings/amount_text.h"
#include "analysis/findings/frame_text.h"
#include "analysis/findings/function_name.h"
#include "analysis/findings/growth_verdict.h"
#include "analysis/findings/label_text.h"
#include "analysis/findings/site_rows.h"
#include "analysis/findings/telling_frame.h"
#include "analysis/findings/text_safe.h"
#include "analysis/report/comparison.h"
#include "common/base/safe_text.h"
#include "common/base/units.h"
#include "views/text/text_table.h"

namespace heaptap::text {

namespace {

// "FAIL: peak at least 2.0 MiB (2,097,152 bytes), limit 1.0 MiB (1,048,576 bytes)"
std::string limit_text(const findings::LimitEntry& limit) {
  const bool has_figure = limit.figure.is_known();  // else nothing was found to be in order
  const char* outcome = limit.broken() ? "FAIL" : limit.unknown() ? "UNKNOWN" : has_figure ? "ok" : "not judged";
  const std::string figure = !has_figure ? "unknown"
                             : limit.certainty == report::Certainty::kAtLeast
                                 ? "at least " + report::figure_text(limit.kind, limit.figure.counted())
                                 : report::figure_text(limit.kind, limit.figure.counted());
  const char* doubt = limit.certainty == report::Certainty::kUnknown ? " or more or less" : "";
  return fmt::format("{}: {} {}{}, limit {}", outcome, report::name_of(limit.kind), figure, doubt,
                     report::figure_text(limit.kind, limit.limit));
}

std::string share_text(const findings::Verdict& verdict, report::LimitKind kind, const report::StackEntry& stack) {
  const report::BlockCount share = findings::share_of(kind, verdict.possible_counts, stack);
  if (kind == report::LimitKind::kAllocations) return findings::counted(share.blocks, "allocation");
  const std::string bytes = base::format_bytes(share.bytes);
  return kind == report::LimitKind::kPeak ? bytes
                                          : fmt::format("{} in {}", bytes, findings::counted(share.blocks, "block"));
}

std::string signed_text(report::LimitKind kind, int64_t growth) {
  const uint64_t size = growth < 0 ? 0 - static_cast<uint64_t>(growth) : static_cast<uint64_t>(growth);
  return fmt::format("{}{}", growth < 0 ? "-" : "+", report::figure_text(kind, size));
}

std::string short_text(report::LimitKind kind, const std::optional<uint64_t>& value) {
  if (!value) return "unknown";
  return kind == report::LimitKind::kAllocations ? base::format_count(*value) : base::format_bytes(*value);
}

std::string growth_limit_text(const findings::GrowthEntry& entry) {
  const std::string most = report::figure_text(entry.limit.kind, entry.most);
  if (!entry.limit.percent) return fmt::format("+{}", most);
  if (!entry.before) return fmt::format("+{}%", *entry.limit.percent);
  return fmt::format("+{}% of it: +{}", *entry.limit.percent, most);
}

std::string limit_name(const report::GrowthLimit& limit) {
  return limit.each_stack ? fmt::format("{} of each stack", report::name_of(limit.kind)) : report::name_of(limit.kind);
}

// "grew by at least 5 B", "is smaller by 2 B".
std::string growth_text(const findings::GrowthEntry& entry) {
  if (entry.certainty == report::Certainty::kNone) return "growth not known";
  const char* least = entry.certainty == report::Certainty::kAtLeast ? "at least " : "";
  const char* doubt = entry.certainty == report::Certainty::kUnknown ? " or more or less" : "";
  if (entry.growth == 0) return fmt::format("{}no growth{}", least, doubt);
  return fmt::format("{}{}{}", least, signed_text(entry.limit.kind, entry.growth), doubt);
}

// One line, and one for each stack.
std::string render_growth(const findings::GrowthEntry& entry, const Ink& ink) {
  const report::LimitKind kind = entry.limit.kind;
  const char* outcome = entry.broken() ? "FAIL" : entry.unknown() ? "UNKNOWN" : "ok";
  std::string totals;
  if (!entry.limit.each_stack)
    totals = fmt::format(" ({} -> {})", short_text(kind, entry.before), short_text(kind, entry.after));
  const std::string line = fmt::format("{}: {}: {}{}, limit {}", outcome, limit_name(entry.limit), growth_text(entry),
                                       totals, growth_limit_text(entry));
  std::string text = (entry.broken() ? ink.red(line) : entry.unknown() ? ink.yellow(line) : line) + "\n";
  for (const report::ComparedStack& stack : entry.stacks) {
    const report::Figure figure = findings::figure_of(kind);
    const model::Frame* frame = findings::telling_frame(entry.frames.list(stack.frames));
    text += fmt::format("  {}  {} -> {} by {} from {}\n", stack.sides.front().ids.empty() ? "new" : "grown",
                        short_text(kind, stack.sides.front().figures[figure]),
                        short_text(kind, stack.sides.back().figures[figure]),
                        findings::function_text(stack.function, stack.variant),
                        frame == nullptr ? "an unknown caller" : findings::describe(*frame, findings::kNameWidth));
  }
  return text;
}

// The stacks that contribute most, and how much of the figure is left for others.
std::string render_stacks(const findings::Verdict& verdict, const findings::LimitEntry& limit,
                          const RenderOptions& options) {
  const auto weight = [&](const findings::SiteRow& row) {
    const report::BlockCount share = findings::share_of(limit.kind, verdict.possible_counts, row.sum);
    return limit.kind == report::LimitKind::kAllocations ? share.blocks : share.bytes;
  };
  const findings::FrameText frames(limit.frames, verdict.skipped, options.frames);
  auto rows = findings::merge_sites(frames, limit.frames, limit.stacks);
  std::ranges::stable_sort(rows, std::greater<>(), weight);
  std::string text;
  uint64_t listed = 0;
  for (const findings::SiteRow& row : rows) {
    listed += weight(row);
    text +=
        fmt::format("  {}  {} by {}{}\n      {}\n", findings::ids_text(row), share_text(verdict, limit.kind, row.sum),
                    findings::function_text(row.sum.function, row.sum.variant), findings::labels_behind(row.sum),
                    frames.describe_site(limit.frames.list(row.sum.frames), TextTable::room_below(options.width)));
  }
  const uint64_t figure = limit.figure.counted();
  const bool adds_up = limit.kind != report::LimitKind::kPeak;  // processes have their peaks at different times
  if (adds_up && !rows.empty() && limit.figure.is_known() && figure > listed) {
    text +=
        fmt::format("  ({} more in other stacks: -n N shows more)\n", report::figure_text(limit.kind, figure - listed));
  }
  return text;
}

}  // namespace

std::string render_verdict(const findings::Verdict& verdict, const RenderOptions& options) {
  const Ink ink(options.color);
  std::string text;
  for (const findings::LimitEntry& limit : verdict.limits) {
    const std::string line = limit_text(limit);
    text += (limit.broken() ? ink.red(line) : limit.unknown() ? ink.yellow(line) : line) + "\n";
    text += render_stacks(verdict, limit, options);
  }
  for (const findings::GrowthEntry& entry : verdict.growth) text += render_growth(entry, ink);
  for (const std::string& remark : verdict.remarks) text += ink.yellow("! " + base::safe_text(remark)) + "\n";
  return text;
}

}  // namespace heaptap::text
