#include "app/run_traces.h"

#include <filesystem>
#include <span>
#include <utility>

#include "analysis/merge.h"
#include "app/new_file.h"
#include "app/terminal.h"
#include "app/trace_file.h"
#include "app/two_at_once.h"
#include "collect/trace_name.h"

namespace heaptap::app {
namespace {

namespace fs = std::filesystem;

// Of one trace: a report, or why there is none.
struct Part {
  report::Report report;
  std::string failure;
};

Part read_part(const trace::RunEntry& entry, analysis::Query query) {
  const auto failed = [](const base::Error& error) { return Part{.report = {}, .failure = error.message}; };
  auto reader = open_trace(entry.trace);
  if (!reader) return failed(reader.error());
  // A later recording may have put its traces in the place of some of this one.
  if ((*reader)->capture().pid != entry.pid)
    return failed(base::make_error("'{}' is the trace of another process", entry.trace));
  if ((*reader)->scans().empty()) query.generate.reset();  // there are no leaks to write suppressions for
  auto report = analysis::analyze(**reader, query);
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

// All that merging needs of each part.
analysis::Query part_query(analysis::Query query) {
  query.limit = 0;
  query.depth = 0;
  query.progress = {};
  return query;
}

}  // namespace

base::Result<std::string> write_run(const std::vector<collect::FinishedTrace>& traces, bool force) {
  std::vector<const collect::FinishedTrace*> written;
  for (const collect::FinishedTrace& trace : traces) {
    if (!trace.path.empty()) written.push_back(&trace);
  }
  if (written.size() < 2) return std::string();
  std::string path = collect::run_path(written.front()->path);
  const fs::path folder = fs::path(path).parent_path();
  std::vector<trace::RunEntry> entries;
  for (const collect::FinishedTrace* trace : written) {
    const fs::path file(trace->path);
    entries.push_back({.pid = trace->pid,
                       .parent_pid = trace->parent_pid,
                       .trace = (folder.empty() ? file : file.lexically_relative(folder)).string(),
                       .program = fs::path(trace->program).filename().string()});
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
  std::string found;
  for (const trace::RunEntry& entry : run.entries) {
    if (entry.pid != pid) continue;
    const auto reader = open_trace(entry.trace);
    const bool went_on = reader && (*reader)->capture().executed;
    if (found.empty() || !went_on) found = entry.trace;
  }
  if (!found.empty()) return found;
  return base::fail("no process {} in '{}': `heaptap show summary {} --by process` lists them", pid, run.path,
                    run.path);
}

base::Result<report::Report> read_run(const Run& run, const analysis::Query& query) {
  ProgressLine progress;
  analysis::Query each = part_query(query);
  if (!each.symbols.progress)
    each.symbols.progress = [&progress](const symbols::SymbolWork& work) { progress.tell(work); };
  analysis::Merger merger;
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
  report::Report merged = std::move(merger).finish({.sort = query.sort,
                                                    .limit = query.stacks ? query.limit : 0,
                                                    .depth = query.depth,
                                                    .leaks_only = query.leaks_only});
  merged.trace_path = merged.run_path = run.path;
  return merged;
}

}  // namespace heaptap::app
