#include "analysis/report/verdict.h"

#include <fmt/format.h>

#include "analysis/report/json_values.h"
#include "analysis/report/label_sums.h"
#include "analysis/report/site_rows.h"
#include "analysis/report/text_parts.h"
#include "common/base/safe_text.h"
#include "common/base/units.h"

namespace heaptap::report {
namespace {

// "FAIL: peak at least 2.0 MiB (2,097,152 bytes), limit 1.0 MiB (1,048,576 bytes)"
std::string limit_text(const LimitEntry& limit) {
  const bool has_figure = limit.certainty != Certainty::kNone;  // else nothing was found to be in order
  const char* outcome = limit.broken() ? "FAIL" : limit.unknown() ? "UNKNOWN" : has_figure ? "ok" : "not judged";
  const std::string figure = !has_figure ? "unknown"
                             : limit.certainty == Certainty::kAtLeast
                                 ? "at least " + figure_text(limit.kind, limit.figure)
                                 : figure_text(limit.kind, limit.figure);
  const char* doubt = limit.certainty == Certainty::kUnknown ? " or more or less" : "";
  return fmt::format("{}: {} {}{}, limit {}", outcome, name_of(limit.kind), figure, doubt,
                     figure_text(limit.kind, limit.limit));
}

std::string share_text(const Verdict& verdict, LimitKind kind, const StackEntry& stack) {
  const BlockCount share = share_of(kind, verdict.possible_counts, stack);
  if (kind == LimitKind::kAllocations) return counted(share.blocks, "allocation");
  const std::string bytes = base::format_bytes(share.bytes);
  return kind == LimitKind::kPeak ? bytes : fmt::format("{} in {}", bytes, counted(share.blocks, "block"));
}

void write_limit(report::JsonWriter& json, const LimitEntry& limit) {
  const report::JsonObject object(json);
  json.member("limit", name_of(limit.kind));
  json.member("figure", known(limit.certainty != Certainty::kNone, limit.figure));
  json.member("certainty", name_of(limit.certainty));
  json.member("most", limit.limit);
  json.member("broken", limit.broken());
  json.member("judged", !limit.unknown());
  json.key("stacks").begin_array();
  for (const StackEntry& stack : limit.stacks) write_json(json, stack);
  json.end_array();
  write_frames(json.key("frames"), limit.frames);
}

void write_verdict(report::JsonWriter& json, const Verdict& verdict) {
  const report::JsonObject object(json);
  json.member("format", "heaptap-check");
  json.member("version", 2);
  json.member("trace", verdict.trace_path);
  json.member("passed", verdict.passed());
  json.member("possible_counts", verdict.possible_counts);
  json.key("limits").begin_array();
  for (const LimitEntry& limit : verdict.limits) write_limit(json, limit);
  json.end_array();
  json.key("remarks").values(verdict.remarks);
  if (verdict.baseline_path.empty()) return;
  json.member("baseline", verdict.baseline_path);
  json.key("growth").begin_array();
  for (const GrowthEntry& entry : verdict.growth) write_json(json, entry);
  json.end_array();
}

}  // namespace

BlockCount share_of(LimitKind kind, bool possible_counts, const StackEntry& stack) {
  switch (kind) {
    case LimitKind::kLeaked: {
      BlockCount share = stack.leaks ? stack.leaks->lost() : BlockCount{};
      if (possible_counts && stack.leaks) share += stack.leaks->possible;
      return share;
    }
    case LimitKind::kPeak:
      return {0, stack.peak_bytes};
    case LimitKind::kLive:
      return {stack.live_blocks, stack.live_bytes};
    case LimitKind::kAllocations:
      break;
  }
  return {stack.allocations, 0};
}

std::string render_verdict(const Verdict& verdict, const RenderOptions& options) {
  const Ink ink(options.color);
  std::string text;
  for (const LimitEntry& limit : verdict.limits) {
    const std::string line = limit_text(limit);
    text += (limit.broken() ? ink.red(line) : limit.unknown() ? ink.yellow(line) : line) + "\n";
    const FrameText frames(limit.frames, verdict.skipped, options.frames);
    for (const SiteRow& row : merge_sites(frames, limit.frames, limit.stacks)) {
      text += fmt::format("  {}  {} by {}{}\n      {}\n", ids_text(row), share_text(verdict, limit.kind, row.sum),
                          function_text(row.sum.function, row.sum.variant), labels_behind(row.sum),
                          frames.describe_site({limit.frames, row.sum.frames}, TextTable::room_below(options.width)));
    }
  }
  for (const GrowthEntry& entry : verdict.growth) text += render_growth(entry, ink);
  for (const std::string& remark : verdict.remarks) text += ink.yellow("! " + base::safe_text(remark)) + "\n";
  return text;
}

std::string render_verdict_json(const Verdict& verdict) {
  std::string text;
  report::JsonWriter json(text);
  write_verdict(json, verdict);
  return text += '\n';
}

std::string render_verdicts_json(const std::vector<Verdict>& verdicts, const std::vector<FailedTrace>& failures) {
  std::string text;
  report::JsonWriter json(text);
  json.begin_object();
  json.member("format", "heaptap-checks");
  json.member("version", 2);
  json.member("passed", failures.empty() && std::ranges::all_of(verdicts, &Verdict::passed));
  json.key("traces").begin_array();
  for (const Verdict& verdict : verdicts) write_verdict(json, verdict);
  json.end_array();
  json.key("failed").begin_array();
  for (const FailedTrace& failure : failures) {
    const report::JsonObject object(json);
    json.member("trace", failure.trace_path);
    json.member("reason", failure.reason);
  }
  json.end_array();
  json.end_object();
  return text += '\n';
}

}  // namespace heaptap::report
