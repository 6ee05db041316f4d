#include "report/verdict.h"

#include <fmt/format.h>

#include "base/safe_text.h"
#include "base/units.h"
#include "report/json_values.h"
#include "report/label_sums.h"
#include "report/site_rows.h"
#include "report/text_parts.h"

namespace heaptap::report {
namespace {

// "FAIL: peak at least 2.0 MiB (2,097,152 bytes), limit 1.0 MiB (1,048,576 bytes)"
std::string limit_text(const LimitEntry& limit) {
  const char* outcome = limit.broken() ? "FAIL" : limit.unknown() ? "UNKNOWN" : "ok";
  const std::string figure = limit.certainty == Certainty::kNone ? "unknown"
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

Json verdict_json(const Verdict& verdict) {
  Json limits = Json::array();
  for (const LimitEntry& limit : verdict.limits) {
    Json stacks = Json::array();
    for (const StackEntry& stack : limit.stacks) stacks.push_back(Json::parse(text_of(stack)));
    Json frames = Json::array();  // that the stacks of this limit name
    for (const model::Frame& frame : limit.frames) frames.push_back(json_of(frame));
    limits.push_back({{"limit", name_of(limit.kind)},
                      {"figure", known(limit.certainty != Certainty::kNone, limit.figure)},
                      {"certainty", name_of(limit.certainty)},
                      {"most", limit.limit},
                      {"broken", limit.broken()},
                      {"judged", !limit.unknown()},
                      {"stacks", std::move(stacks)},
                      {"frames", std::move(frames)}});
  }
  Json json{{"format", "heaptap-check"},
            {"version", 2},
            {"trace", verdict.trace_path},
            {"passed", verdict.passed()},
            {"possible_counts", verdict.possible_counts},
            {"limits", std::move(limits)},
            {"remarks", verdict.remarks}};
  if (!verdict.baseline_path.empty()) {
    Json growth = Json::array();
    for (const GrowthEntry& entry : verdict.growth) growth.push_back(growth_json(entry));
    json["baseline"] = verdict.baseline_path;
    json["growth"] = std::move(growth);
  }
  return json;
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

std::string render_verdict_json(const Verdict& verdict) { return to_text(verdict_json(verdict)) + "\n"; }

std::string render_verdicts_json(const std::vector<Verdict>& verdicts, const std::vector<FailedTrace>& failures) {
  Json traces = Json::array();
  bool passed = failures.empty();
  for (const Verdict& verdict : verdicts) {
    traces.push_back(verdict_json(verdict));
    passed = passed && verdict.passed();
  }
  Json failed = Json::array();
  for (const FailedTrace& failure : failures) {
    failed.push_back({{"trace", failure.trace_path}, {"reason", failure.reason}});
  }
  return to_text({{"format", "heaptap-checks"},
                  {"version", 2},
                  {"passed", passed},
                  {"traces", std::move(traces)},
                  {"failed", std::move(failed)}}) +
         "\n";
}

}  // namespace heaptap::report
