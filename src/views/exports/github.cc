// Annotations of GitHub Actions: lines of a job's output that the runner shows beside the source lines (docs.github.com: workflow
// commands; escapes: actions/toolkit, packages/core/src/command.ts).
#include <fmt/format.h>

#include <string>

#include "common/base/safe_text.h"
#include "views/exports/finding_writers.h"
#include "views/exports/findings.h"
#include "views/exports/frame_text.h"
#include "views/exports/source_place.h"

namespace heaptap::exports {
namespace {

constexpr size_t kMaxCallers = 16;  // of a message

std::string escape(std::string_view text, bool is_property) {
  std::string escaped;
  for (const char character : text) {
    const bool special = character == '%' || character == '\r' || character == '\n' ||
                         (is_property && (character == ':' || character == ','));
    escaped += special ? fmt::format("%{:02X}", static_cast<unsigned char>(character)) : std::string(1, character);
  }
  return escaped;
}

// `lines`: the message, possibly of several lines.
std::string annotation(std::string_view level, const std::optional<SourcePlace>& place, std::string_view title,
                       std::string_view lines) {
  std::string properties;
  if (place) {
    properties = "file=" + escape(base::safe_text(place->path), true) + ",";
    if (place->frame->line != 0) properties += fmt::format("line={},", place->frame->line);
  }
  return fmt::format("::{} {}title={}::{}\n", level, properties, escape(title, true), escape(lines, false));
}

std::string caller_lines(const std::string& called, const report::FrameList& frames) {
  std::string text = "\n  " + base::safe_text(called);
  size_t count = 0;
  for (const model::Frame& frame : frames) {
    if (count++ == kMaxCallers) return text + "\n  ...";
    text += "\n  " + name_of(frame);
    if (!frame.file.empty()) text += fmt::format(" {}:{}", file_of(frame), frame.line);
  }
  return text;
}

}  // namespace

base::Result<> write_github(const report::Report& report, const report::Write& write) {
  const std::string root = working_directory();
  for (const report::ErrorEntry& error : report.errors) {
    const report::FrameList frames = report.list(error.frames);
    std::string lines = sentence_of(error) + caller_lines(error.function, frames);
    if (error.allocated)
      lines += "\nallocated by" + caller_lines(error.allocated->function, report.list(error.allocated->frames));
    write(annotation("error", place_below(root, frames), fmt::format("heaptap: {}", rule_of(error)), lines));
  }
  const std::vector<Leak> leaks = leaks_of(report);
  for (const Leak& leak : leaks) {
    const report::FrameList frames = report.list(leak.stack->frames);
    const char* const level = leak.kind == LeakKind::kPossible ? "warning" : "error";
    write(annotation(level, place_below(root, frames), fmt::format("heaptap: {}", words_of(leak.kind)),
                     sentence_of(leak) + caller_lines(leak.stack->function, frames)));
  }
  const std::string leak_doubt = doubt_about_leaks(report);
  if (!leak_doubt.empty()) write(annotation("warning", {}, "heaptap", "not all leaks are known: " + leak_doubt));
  const std::string release_doubt = doubt_about_releases(report);
  if (!release_doubt.empty())
    write(annotation("warning", {}, "heaptap", "not all bad releases are known: " + release_doubt));
  if (report.errors_dropped != 0)
    write(annotation("error", {}, "heaptap", fmt::format("{} more bad releases", report.errors_dropped)));
  const bool is_clean = report.errors.empty() && leaks.empty() && report.errors_dropped == 0;
  if (is_clean && leak_doubt.empty() && release_doubt.empty())
    write(annotation("notice", {}, "heaptap", "no leaks, no bad releases"));
  return {};
}

}  // namespace heaptap::exports
