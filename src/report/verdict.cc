#include "report/verdict.h"

#include <fmt/format.h>

#include "base/safe_text.h"
#include "base/units.h"
#include "report/json_values.h"
#include "report/telling_frame.h"
#include "report/text_parts.h"
#include "report/text_safe.h"

namespace heaptap::report {
namespace {

const char* name_of(LimitKind kind) {
  switch (kind) {
    case LimitKind::kLeaked:
      return "leaked";
    case LimitKind::kPeak:
      return "peak";
    case LimitKind::kLive:
      return "live";
    case LimitKind::kAllocations:
      break;
  }
  return "allocations";
}

const char* name_of(Certainty certainty) {
  switch (certainty) {
    case Certainty::kExact:
      return "exact";
    case Certainty::kAtLeast:
      return "at least";
    case Certainty::kUnknown:
    case Certainty::kNone:
      break;
  }
  return "unknown";
}

// "48 B" or "1.5 KiB (1,536 bytes)".
std::string figure_text(LimitKind kind, uint64_t figure) {
  if (kind == LimitKind::kAllocations) return base::format_count(figure);
  const std::string text = base::format_bytes(figure);
  return figure < 1024 ? text : fmt::format("{} ({} bytes)", text, base::format_count(figure));
}

// "FAIL: peak at least 2.0 MiB (2,097,152 bytes), limit 1.0 MiB (1,048,576 bytes)"
std::string limit_text(const LimitEntry& limit) {
  const char* outcome = limit.broken() ? "FAIL" : limit.unknown() ? "UNKNOWN" : "ok";
  const std::string figure = limit.certainty == Certainty::kNone ? "not known"
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
    for (const StackEntry& stack : limit.stacks) stacks.push_back(json_of(stack));
    limits.push_back({{"limit", name_of(limit.kind)},
                      {"figure", known(limit.certainty != Certainty::kNone, limit.figure)},
                      {"certainty", name_of(limit.certainty)},
                      {"most", limit.limit},
                      {"broken", limit.broken()},
                      {"judged", !limit.unknown()},
                      {"stacks", std::move(stacks)}});
  }
  return {{"format", "heaptap-check"},
          {"version", 1},
          {"trace", verdict.trace_path},
          {"passed", verdict.passed()},
          {"possible_counts", verdict.possible_counts},
          {"limits", std::move(limits)},
          {"remarks", verdict.remarks}};
}

}  // namespace

Certainty certainty_of(const Report& report, LimitKind kind, bool is_early_scan) {
  using enum Certainty;
  const bool has_gaps = !report.known.saw_all || !report.capture.from_start;
  const bool is_cut = report.capture.truncated || !report.capture.ended;
  switch (kind) {
    case LimitKind::kLeaked:
      if (!report.leaks.scanned) return kNone;
      if (report.leaks.unknown.blocks != 0 || is_early_scan) return kAtLeast;
      return has_gaps || is_cut ? kAtLeast : kExact;
    case LimitKind::kPeak:
      if (!report.totals.peak_known) return kNone;
      return has_gaps ? kUnknown : is_cut ? kAtLeast : kExact;
    case LimitKind::kLive:
      if (!report.totals.live_known) return kNone;
      return has_gaps || is_cut ? kUnknown : kExact;
    case LimitKind::kAllocations:
      break;
  }
  return has_gaps || is_cut ? kAtLeast : kExact;
}

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
    for (const StackEntry& stack : limit.stacks) {
      const model::Frame* frame = telling_frame(stack.frames);
      text += fmt::format("  #{}  {} by {} from {}\n", stack.id, share_text(verdict, limit.kind, stack),
                          function_text(stack.function, stack.variant),
                          frame == nullptr ? "an unknown caller" : describe(*frame, kNameWidth));
    }
  }
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
                  {"version", 1},
                  {"passed", passed},
                  {"traces", std::move(traces)},
                  {"failed", std::move(failed)}}) +
         "\n";
}

}  // namespace heaptap::report
