#include "apps/heaptap/commands/run_traces.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <span>
#include <utility>

#include "analysis/query/merge.h"
#include "analysis/symbols/file_pool.h"
#include "apps/heaptap/commands/name_sources.h"
#include "apps/heaptap/commands/new_file.h"
#include "apps/heaptap/commands/terminal.h"
#include "apps/heaptap/commands/trace_file.h"
#include "apps/heaptap/commands/two_at_once.h"
#include "capture/supervision/trace_name.h"
#include "common/base/safe_text.h"

namespace heaptap::app {
namespace {

namespace fs = std::filesystem;

// Result of one trace: a report, or the failure.
struct Part {
  report::Report report;
  std::string failure;
};

Part read_part(const trace::RunEntry& entry, query::Query query) {
  const auto failed = [](const base::Error& error) { return Part{.report = {}, .failure = error.message}; };
  auto reader = open_trace(entry.trace);
  if (!reader) return failed(reader.error());
  // A later recording may have overwritten some traces of this one.
  if ((*reader)->capture().pid != entry.pid)
    return failed(base::make_error("'{}' is the trace of another process", entry.trace));
  if ((*reader)->scans().empty()) query.leaks.generate.reset();  // no scan, so no leaks to suppress
  auto report = analyze_trace(**reader, query);
  if (!report) return failed(report.error());
  report->trace_path = entry.trace;
  return {.report = *std::move(report), .failure = ""};
}

report::ProcessEntry unread(const trace::RunEntry& entry, std::string failure) {
  report::ProcessEntry process;
  process.capture.pid = entry.pid;
  process.capture.parent_pid = entry.parent_pid;
  process.capture.command = {entry.program};
  process.trace_path = entry.trace;
  process.failure = std::move(failure);
  return process;
}

// Run that contains a trace.
struct RunBeside {
  Run run;
  uint32_t pid = 0;  // of the trace's process
};

base::Result<RunBeside> run_beside(const std::string& trace) {
  std::error_code error;
  const fs::path file = fs::canonical(trace, error);
  if (error) return base::fail("can't read '{}': {}", trace, error.message());
  for (fs::directory_iterator files(file.parent_path(), error), end; !error && files != end; files.increment(error)) {
    const std::string path = files->path().string();
    if (!path.ends_with(".run") || !trace::is_run_index(path)) continue;
    auto entries = trace::read_run_index(path);
    if (!entries) continue;
    const auto found = std::ranges::find_if(*entries, [&](const trace::RunEntry& entry) {
      std::error_code ignored;
      return fs::equivalent(entry.trace, file, ignored);
    });
    if (found == entries->end()) continue;
    const uint32_t pid = found->pid;
    return RunBeside{.run = {.path = path, .entries = *std::move(entries)}, .pid = pid};
  }
  return base::fail(
      "--image: '{}' is the trace of one program, and no index of a recording (*.run) next to it lists it: name the "
      "other program's trace",
      trace);
}

std::string programs_of(const Run& run, uint32_t pid) {
  std::map<uint32_t, std::string> programs;
  for (const trace::RunEntry& entry : run.entries) {
    if (entry.pid == pid) programs[entry.image] = base::safe_text(entry.program);
  }
  std::string text;
  for (const auto& [image, program] : programs)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", image, program);
  return text;
}

base::Result<std::string> image_in(const Run& run, uint32_t pid, uint32_t image) {
  const auto found = std::ranges::find_if(
      run.entries, [&](const trace::RunEntry& entry) { return entry.pid == pid && entry.image == image; });
  if (found == run.entries.end()) {
    const std::string programs = programs_of(run, pid);
    if (programs.empty()) return base::fail("no process {} in '{}'", pid, run.path);
    return base::fail_as(base::ErrorKind::kUsage, "--image {}: process {} has no such program: {}", image, pid,
                         programs);
  }
  const auto reader = open_trace(found->trace);
  if (reader && (*reader)->capture().pid != pid)
    return base::fail("--image {}: '{}' is the trace of another process now", image, found->trace);
  return found->trace;
}

// The parts of each report that merging needs.
query::Query part_query(query::Query query) {
  query.listing.limit = 0;
  query.listing.frames.depth = 0;
  query.progress = {};
  return query;
}

}  // namespace

base::Result<std::string> write_run(const std::vector<supervision::FinishedTrace>& traces, bool force) {
  std::vector<const supervision::FinishedTrace*> written;
  for (const supervision::FinishedTrace& trace : traces) {
    if (!trace.path.empty()) written.push_back(&trace);
  }
  if (written.size() < 2) return std::string();
  std::string path = supervision::run_path(written.front()->path);
  const fs::path directory = fs::path(path).parent_path();
  std::vector<trace::RunEntry> entries;
  for (const supervision::FinishedTrace* trace : written) {
    const fs::path file(trace->path);
    entries.push_back({.pid = trace->pid,
                       .parent_pid = trace->parent_pid,
                       .trace = (directory.empty() ? file : file.lexically_relative(directory)).string(),
                       .program = fs::path(trace->program).filename().string(),
                       .image = trace->image});
  }
  auto file = NewFile::create(path, force);
  if (!file) return std::unexpected(std::move(file).error());
  file->write(trace::encode_run_index(entries));
  HEAPTAP_TRY(file->finish());
  return path;
}

base::Result<std::optional<Run>> open_run(const std::string& path) {
  if (!trace::is_run_index(path)) return std::optional<Run>();
  auto entries = trace::read_run_index(path);
  if (!entries) return std::unexpected(std::move(entries).error());
  return Run{.path = path, .entries = *std::move(entries)};
}

base::Result<std::string> trace_of(const Run& run, uint32_t pid) {
  if (const trace::RunEntry* const last = trace::last_program_of(run.entries, pid)) return last->trace;
  return base::fail("no process {} in '{}': `heaptap show summary {} --by process` lists them", pid, run.path,
                    run.path);
}

base::Result<std::string> trace_of_image(const std::string& trace, uint32_t process, uint32_t image) {
  auto run = open_run(trace);
  if (!run) return std::unexpected(std::move(run).error());
  uint32_t pid = process;
  if (!*run) {
    auto beside = run_beside(trace);
    if (!beside) return std::unexpected(std::move(beside).error());
    pid = beside->pid;
    *run = std::move(beside->run);
    if (process != 0 && process != pid)
      return base::fail("--process {}: '{}' is the trace of process {}", process, trace, pid);
  } else if (pid == 0 && !trace::is_one_process((*run)->entries)) {
    return base::fail_as(base::ErrorKind::kUsage,
                         "--image needs a single process, and '{}' is the recording of several: `heaptap show summary "
                         "{} --by process` lists them, `heaptap show --process PID --image {}` shows one",
                         trace, trace, image);
  } else if (pid == 0) {
    pid = (*run)->entries.front().pid;
  }
  return image_in(**run, pid, image);
}

base::Result<std::string> chosen_trace(const std::string& trace, uint32_t image) {
  return image == 0 ? base::Result<std::string>(trace) : trace_of_image(trace, 0, image);
}

base::Result<report::Report> read_run(const Run& run, const query::Query& query) {
  ProgressLine progress;
  query::Query each = part_query(query);
  each.leaks.holder = false;  // each process has other variables
  if (!each.symbols.progress)
    each.symbols.progress = [&progress](const symbols::SymbolWork& work) { progress.tell(work); };
  each.symbols.files = std::make_shared<symbols::FilePool>();
  query::Merger merger;
  std::string failure;
  size_t read = 0;
  size_t done = 0;
  two_at_once(
      std::span<const trace::RunEntry>(run.entries),
      [&each](const trace::RunEntry& entry) { return read_part(entry, each); },
      [&](const trace::RunEntry& entry, Part part) {
        progress.update(++done, run.entries.size());
        if (part.failure.empty()) {
          merger.add(std::move(part.report));
          ++read;
          return;
        }
        if (failure.empty()) failure = part.failure;
        merger.add_unread(unread(entry, std::move(part.failure)));
      });
  if (read == 0) return base::fail("{}", failure);
  report::Report merged = std::move(merger).finish({.sort = query.listing.sort,
                                                    .limit = query.listing.stacks ? query.listing.limit : 0,
                                                    .depth = query.listing.frames.depth,
                                                    .leaks_only = query.listing.leaks_only});
  merged.trace_path = merged.run_path = run.path;
  for (report::ProcessEntry& process : merged.processes) {
    const auto entry = std::ranges::find(run.entries, process.trace_path, &trace::RunEntry::trace);
    if (entry != run.entries.end()) process.image = entry->image;
  }
  return merged;
}

}  // namespace heaptap::app
