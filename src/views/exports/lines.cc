// Findings as lines of a compiler, `file:line:column: error: text`, which editors make problems of (VS Code's $gcc, quickfix of vim, Emacs's
// compilation mode).
#include <fmt/format.h>

#include <string>
#include <string_view>

#include "analysis/findings/verdict.h"
#include "analysis/report/certainty.h"
#include "common/base/safe_text.h"
#include "views/exports/finding_writers.h"
#include "views/exports/findings.h"
#include "views/exports/frame_text.h"
#include "views/exports/lines.h"
#include "views/exports/source_place.h"

namespace heaptap::exports {
namespace {

// "src/app.cc:12:7"; without a source the code, which no editor opens.
std::string place_text(const std::string& root, const report::FrameList& frames) {
  if (const auto place = place_here(root, frames)) {
    const model::Frame& frame = *place->frame;
    std::string text = fmt::format("{}:{}", base::safe_text(place->path), frame.line);
    return frame.column == 0 ? text : fmt::format("{}:{}", text, frame.column);
  }
  return frames.empty() ? "heaptap" : name_of(frames.front());
}

std::string line_of(const std::string& place, std::string_view severity, std::string_view text) {
  return fmt::format("{}: {}: {}\n", place, severity, base::safe_text(text));
}

void write_doubt(std::string_view what, const std::string& why, const report::Write& write) {
  if (!why.empty()) write(line_of("heaptap", "warning", fmt::format("not all {} are known: {}", what, why)));
}

}  // namespace

void write_leak_lines(const report::Report& report, const report::Write& write) {
  const std::string root = working_directory();
  for (const Leak& leak : leaks_of(report)) {
    const char* const severity = leak.kind == LeakKind::kPossible ? "warning" : "error";
    write(line_of(place_text(root, report.list(leak.stack->frames)), severity,
                  fmt::format("{}, allocated by {} [#{}]", sentence_of(leak), leak.stack->function, leak.stack->id)));
  }
  write_doubt("leaks", doubt_about_leaks(report), write);
}

base::Result<> write_lines(const report::Report& report, const report::Write& write) {
  const std::string root = working_directory();
  for (const report::ErrorEntry& error : report.errors) {
    write(line_of(place_text(root, report.list(error.frames)), "error",
                  fmt::format("{} [{}]", sentence_of(error), rule_of(error))));
  }
  write_leak_lines(report, write);
  write_doubt("bad releases", doubt_about_releases(report), write);
  if (report.errors_dropped != 0)
    write(line_of("heaptap", "error", fmt::format("{} more bad releases", report.errors_dropped)));
  return {};
}

std::string lines_of(const findings::Verdict& verdict) {
  const std::string root = working_directory();
  std::string lines;
  for (const findings::LimitEntry& limit : verdict.limits) {
    if (!limit.broken() && !limit.unknown()) continue;
    const std::string name(report::name_of(limit.kind));
    const std::string figure =
        limit.figure.is_known() ? report::figure_text(limit.kind, limit.figure.counted()) : "unknown";
    lines += line_of("heaptap", limit.broken() ? "error" : "warning",
                     fmt::format("{} {}, limit {}", name, figure, report::figure_text(limit.kind, limit.limit)));
    for (const report::StackEntry& stack : limit.stacks) {
      const report::BlockCount share = findings::share_of(limit.kind, verdict.possible_counts, stack);
      const uint64_t amount = limit.kind == report::LimitKind::kAllocations ? share.blocks : share.bytes;
      lines += line_of(
          place_text(root, limit.frames.list(stack.frames)), "error",
          fmt::format("{} {} by {} [#{}]", name, report::figure_text(limit.kind, amount), stack.function, stack.id));
    }
  }
  for (const findings::GrowthEntry& entry : verdict.growth) {
    if (!entry.broken() && !entry.unknown()) continue;
    const std::string name(report::name_of(entry.limit.kind));
    lines +=
        line_of("heaptap", entry.broken() ? "error" : "warning",
                fmt::format("{} {}", name, entry.broken() ? "grew over the limit" : "may have grown over the limit"));
    for (const report::ComparedStack& stack : entry.stacks)
      lines += line_of(place_text(root, entry.frames.list(stack.frames)), "error", name + " grew here");
  }
  for (const std::string& remark : verdict.remarks) lines += line_of("heaptap", "note", remark);
  return lines;
}

}  // namespace heaptap::exports
