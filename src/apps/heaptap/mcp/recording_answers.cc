// Answers about one recording.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <limits>

#include "analysis/findings/amount_text.h"
#include "analysis/findings/capture_text.h"
#include "analysis/findings/findings.h"
#include "analysis/findings/outcome.h"
#include "analysis/findings/telling_frame.h"
#include "analysis/findings/verdict.h"
#include "apps/heaptap/commands/check_command.h"
#include "apps/heaptap/commands/run_traces.h"
#include "apps/heaptap/commands/show_command.h"
#include "apps/heaptap/commands/trace_file.h"
#include "apps/heaptap/mcp/answers.h"
#include "common/base/safe_text.h"
#include "common/base/units.h"
#include "common/base/utc_text.h"

namespace heaptap::app {
namespace {

constexpr size_t kMaxAnswered = 100;     // recordings, stacks
constexpr size_t kMaxSourceFrames = 12;  // with source lines
constexpr size_t kAnswerWidth = 100;     // columns

std::string facts_of(const std::string& path) {
  const auto run = open_run(path);
  if (run && *run) return fmt::format("{} traces of processes recorded together", (*run)->entries.size());
  const auto trace = open_trace(path);
  if (!trace) return trace.error().message;
  const model::Capture& capture = (*trace)->capture();
  return fmt::format("{}{} {}", findings::command_of(capture), findings::process_of(capture),
                     findings::ending_text(capture));
}

ShowOptions answer_options(const McpSources& sources, std::string path, report::View view) {
  ShowOptions options;
  options.view = view;
  options.trace = std::move(path);
  options.query.symbols = sources.symbols;
  options.query.listing.limit = kMaxAnswered;
  options.quiet = options.no_pager = true;
  options.color = ColorMode::kNever;
  options.width = kAnswerWidth;
  return options;
}

std::string heading_of(const report::StackEntry& stack) {
  std::string text = fmt::format("#{}  {}", stack.id, base::safe_text(stack.function));
  if (stack.allocations.is_known()) text += ", " + findings::counted(stack.allocations.counted(), "allocation");
  if (stack.leaks && stack.leaks->lost().blocks != 0) text += ", lost: " + findings::amount(stack.leaks->lost());
  return text + "\n";
}

base::Result<report::Report> read_stack(const McpSources& sources, const std::string& path, uint64_t stack) {
  ShowOptions options = answer_options(sources, path, report::View::kTop);
  query::Query& query = options.query;
  query.listing.limit = 0;
  query.counting.statistics = query.counting.lifetimes = false;
  const auto run = open_run(path);
  if (!run) return std::unexpected(run.error());
  // Of several processes, stacks get their numbers when all are read.
  if (!*run || trace::is_one_process((*run)->entries)) query.listing.stack_ids = {stack};
  return read_recording(options, query);
}

std::string lines_of(const McpSources& sources, const model::Frame& frame, uint32_t around, uint64_t start_unix_ns) {
  const auto lines = sources.lines.lines(frame.file, frame.line, around);
  if (!lines) return fmt::format("         {}\n", lines.error().message);
  if (!sources.lines.is_newer(frame.file, start_unix_ns)) return *lines;
  return "         (changed after the recording: these may be other lines)\n" + *lines;
}

}  // namespace

base::Result<std::string> path_of(const McpSources& sources, const McpRecording& recording) {
  auto path = sources.directory.recording(recording.name);
  if (!path || recording.process == 0) return path;
  const auto run = open_run(*path);
  if (!run) return std::unexpected(run.error());
  if (recording.process > std::numeric_limits<uint32_t>::max()) return base::fail("no process {}", recording.process);
  const auto pid = static_cast<uint32_t>(recording.process);
  if (*run) return trace_of(**run, pid);
  const auto trace = open_trace(*path);
  if (!trace) return std::unexpected(trace.error());
  if ((*trace)->capture().pid != pid)
    return base::fail("'{}' is the trace of process {}, and of no other", *path, (*trace)->capture().pid);
  return path;
}

std::string verdict_text(const findings::Verdict& leaks, const report::Report& report) {
  base::Known<uint64_t> bad = report.totals.bad_releases;
  bad += report.totals.double_releases;
  bad += report.totals.mismatched_releases;
  const bool is_bad_known = bad.is_known() && report.known.releases;
  std::string text;
  if (leaks.broken()) {
    text = "verdict: leaks\n";
  } else if (!leaks.passed()) {
    text = "verdict: unknown\nNot all was seen that leaks could be concluded from. This is not clean.\n";
  } else if (bad.counted() != 0) {
    text = "verdict: bad frees\n";
  } else if (!is_bad_known) {
    text = "verdict: unknown\nNothing was lost, but which releases are bad was not recorded. This is not clean.\n";
  } else {
    text = "verdict: clean\n";
  }
  for (const std::string& remark : leaks.remarks) text += "- " + base::safe_text(remark) + "\n";
  return text;
}

base::Result<std::string> list_recordings(const McpSources& sources, const std::string& match) {
  const RecordingList list = sources.directory.list(match, kMaxAnswered);
  const std::string incomplete =
      list.error.empty() ? "" : fmt::format("the list is incomplete: {}\n", base::safe_text(list.error));
  if (list.names.empty())
    return base::fail("{}no recording (*.htap, *.run){}; `heaptap run -o NAME.htap -- PROGRAM` makes one here",
                      incomplete, match.empty() ? "" : " with that in its name");
  std::string text;
  for (const std::string& name : list.names) {
    struct stat facts{};
    if (stat(sources.directory.path_of(name).c_str(), &facts) != 0) continue;
    const auto checked = sources.directory.recording(name);
    text += fmt::format("{}  {}  {}  {}\n", base::safe_text(name), base::utc_text(facts.st_mtim.tv_sec),
                        base::format_bytes(static_cast<uint64_t>(facts.st_size)),
                        base::safe_text(checked ? facts_of(*checked) : checked.error().message));
  }
  if (list.older != 0) text += fmt::format("{} older ones aren't listed\n", list.older);
  return text + incomplete;
}

base::Result<std::string> tell_suspects(const McpSources& sources, const McpRecording& recording) {
  const auto path = path_of(sources, recording);
  if (!path) return std::unexpected(path.error());
  CheckOptions check;
  check.leaked_bytes = 0;
  check.stacks = 0;  // the list below has them
  check.symbols = sources.symbols;
  const auto verdict = judge_recording(check, *path);
  if (!verdict) return std::unexpected(verdict.error());
  const ShowOptions options = answer_options(sources, *path, report::View::kLeaks);
  std::string head;
  const auto leaks = shown_text(options, [&](query::Query query) {
    query.listing.errors = true;
    auto report = read_recording(options, query);
    if (!report) return report;
    head = verdict_text(*verdict, *report) + "\nFindings:\n";
    for (const findings::Finding& finding : findings::findings_of(*report))
      head += fmt::format("- {}: {}\n", findings::name_of(finding.severity), finding.text);
    return report;
  });
  if (!leaks) return std::unexpected(leaks.error());
  return head + "\n" + *leaks;
}

base::Result<std::string> tell_holders(const McpSources& sources, const McpRecording& recording,
                                       const std::string& what) {
  const auto path = path_of(sources, recording);
  if (!path) return std::unexpected(path.error());
  const auto question = query::parse_block_question(what);
  if (!question) return std::unexpected(question.error());
  ShowOptions options = answer_options(sources, *path, report::View::kHolders);
  options.query.leaks.why = *question;
  return shown_text(options, [&](const query::Query& query) { return read_recording(options, query); });
}

base::Result<std::string> tell_source(const McpSources& sources, const McpRecording& recording, uint64_t stack,
                                      uint32_t around) {
  const auto path = path_of(sources, recording);
  if (!path) return std::unexpected(path.error());
  const auto report = read_stack(sources, *path, stack);
  if (!report) return std::unexpected(report.error());
  const auto found = std::ranges::find(report->stacks, stack, &report::StackEntry::id);
  if (found == report->stacks.end()) return base::fail("no stack #{}: the tool suspects lists stacks", stack);
  const report::FrameList frames = report->list(found->frames);
  const findings::FrameText names(report->frames.all(), report->skipped, {.full_paths = true});
  std::string text = heading_of(*found);
  size_t listed = 0;
  for (size_t place = 0; place < findings::told_frames(frames) && listed < kMaxSourceFrames; ++place) {
    const model::Frame& frame = frames[place];
    constexpr size_t kNameBytes = 120;
    if (findings::frame_kind(frame) != 0) continue;
    ++listed;
    text += names.both(frame, kNameBytes) + "\n";
    text += frame.file.empty() ? "         no line known: compile with -g\n"
                               : lines_of(sources, frame, around, report->capture.start_unix_ns);
  }
  if (listed == 0) text += "no frame of it is the program's own code\n";
  return text;
}

}  // namespace heaptap::app
