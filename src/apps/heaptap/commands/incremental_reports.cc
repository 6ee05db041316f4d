#include "apps/heaptap/commands/incremental_reports.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <filesystem>
#include <string_view>

#include "analysis/query/stack_index.h"
#include "apps/heaptap/commands/terminal.h"
#include "common/base/signals_blocked.h"
#include "common/base/write_all.h"
#include "record/trace/trace_reader.h"
#include "views/exports/formats.h"

namespace heaptap::app {
namespace {

constexpr size_t kMaxTold = 20;

// Query for the figures of all stacks.
query::Query counts_of(query::Query query) {
  query.counting.statistics = query.counting.lifetimes = query.listing.stacks = query.leaks.scans = false;
  query.listing.counts = true;
  return query;
}

query::Query names_of(query::Query query, std::vector<uint64_t> stacks) {
  query.counting.statistics = query.counting.lifetimes = query.leaks.scans = false;
  query.listing.stacks = !stacks.empty();
  query.listing.stack_ids = std::move(stacks);
  return query;
}

query::Query whole_query(query::Query query, const exports::Format& format) {
  query.listing.blocks = format.needs.blocks;
  query.listing.errors = format.needs.errors;
  query.counting.statistics = format.needs.timeline;
  return query;
}

// Beside the trace.
std::string directory_of(const std::string& trace_path) {
  const std::string directory = std::filesystem::path(trace_path).parent_path().string();
  return directory.empty() ? "." : directory;
}

base::Result<> write_piece(const base::UniqueFd& output, std::string_view text) {
  if (base::write_all(output.get(), text)) return {};
  return base::fail("can't write to the program's descriptor: {}", base::reason_of(errno));
}

}  // namespace

IncrementalReports::IncrementalReports(const exports::Format& format, query::Query query)
    : format_(format), query_(std::move(query)) {}

IncrementalReports::~IncrementalReports() {
  {
    const std::scoped_lock lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool IncrementalReports::is_busy(pid_t process) {
  const std::scoped_lock lock(mutex_);
  return std::ranges::any_of(tasks_, [process](const Task& task) { return task.of.first == process; });
}

void IncrementalReports::write(supervision::ReportRequest request) {
  const Key key(request.process, request.image);
  add({key, std::make_unique<supervision::ReportRequest>(std::move(request))});
}

void IncrementalReports::end(pid_t process, uint32_t image) {
  if (thread_.joinable()) add({{process, image}, nullptr});
}

void IncrementalReports::add(Task task) {
  {
    const std::scoped_lock lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  changed_.notify_all();
  if (thread_.joinable()) return;
  const base::SignalsBlocked blocked;
  thread_ = std::thread([this] { serve(); });
}

void IncrementalReports::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ends_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    Task task{tasks_.front().of, std::move(tasks_.front().request)};
    lock.unlock();
    serve(std::move(task));
    lock.lock();
    tasks_.pop_front();
  }
}

void IncrementalReports::serve(Task task) try {
  if (task.request == nullptr) {
    programs_.erase(task.of);
    return;
  }
  supervision::ReportOutcome outcome;
  const auto written = serve(task.of, *task.request, outcome);
  if (!written) tell(task.of.first, written.error().message);
  outcome.is_done = written.has_value();
  if (task.request->answer) task.request->answer(outcome);
} catch (const std::exception& error) {
  programs_.erase(task.of);  // possibly read in part
  tell(task.of.first, error.what());
  if (task.request != nullptr && task.request->answer) task.request->answer({});
}

base::Result<> IncrementalReports::serve(const Key& key, supervision::ReportRequest& request,
                                         supervision::ReportOutcome& outcome) {
  if (!request.written) return request.written;
  const uint64_t bytes = request.trace_bytes;
  Program& program = programs_[key];
  if (program.trace == nullptr) HEAPTAP_TRY(begin(program, request));
  if (request.scan != 0) return count_leaks(program, request, outcome);
  const bool is_incremental = request.output || format_.write_series != nullptr;
  if (!is_incremental) return write_whole(program, request);
  HEAPTAP_TRY(program.trace->advance(bytes));
  return write_changes(program, request);
}

base::Result<> IncrementalReports::begin(Program& program, supervision::ReportRequest& request) const {
  struct stat facts{};
  if (!request.trace || fstat(request.trace.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) {
    return base::fail("its trace '{}' can't be read again: name a file with -o", request.trace_path);
  }
  auto trace = client::SteppedTrace::open(std::move(request.trace), counts_of(query_));
  if (!trace) return std::unexpected(std::move(trace).error());
  program.trace = *std::move(trace);
  return {};
}

base::Result<> IncrementalReports::write_changes(Program& program, supervision::ReportRequest& request) const {
  const auto counts = program.trace->report(counts_of(query_));
  if (!counts) return std::unexpected(counts.error());
  HEAPTAP_TRY(exports::check_memlog(*counts));
  exports::MemlogChanges& changes = request.output ? program.in_outputs : program.in_files;
  const auto named = program.trace->report(names_of(query_, changes.changed(*counts)));
  if (!named) return std::unexpected(named.error());
  if (request.output) {
    base::Result<> written;
    changes.write(*counts, *named, [&](std::string_view piece) {
      if (written) written = write_piece(request.output, piece);
    });
    if (!written) return written;
  } else {
    if (program.files == nullptr) {
      program.files = std::make_unique<NumberedFiles>(directory_of(request.trace_path), format_.numbered_name(*counts),
                                                      std::string(format_.extension));
    }
    HEAPTAP_TRY(program.files->write_next([&](const report::Write& write) { changes.write(*counts, *named, write); }));
  }
  changes.take_as_written(*counts);
  return {};
}

base::Result<> IncrementalReports::count_leaks(const Program& program, const supervision::ReportRequest& request,
                                               supervision::ReportOutcome& outcome) const {
  auto reader = trace::TraceReader::open(program.trace->path());
  if (!reader) return std::unexpected(std::move(reader).error());
  query::Query query = query_;
  query.counting.events = query.listing.stacks = query.counting.statistics = query.counting.lifetimes = false;
  query.leaks.scan = request.scan;
  const auto report = query::analyze(*reader, query);
  if (!report) return std::unexpected(report.error());
  const report::Leaks& leaks = report->leaks;
  size_t at = 0;
  for (const report::BlockCount& count :
       {leaks.definite, leaks.indirect, leaks.possible, leaks.reachable, leaks.unknown}) {
    outcome.counts[at++] = count.blocks;
    outcome.counts[at++] = count.bytes;
  }
  return {};
}

// From the trace's current state.
base::Result<> IncrementalReports::write_whole(Program& program, const supervision::ReportRequest& request) const {
  auto reader = trace::TraceReader::open(program.trace->path());
  if (!reader) return std::unexpected(std::move(reader).error());
  auto report = query::analyze(*reader, whole_query(query_, format_));
  if (!report) return std::unexpected(std::move(report).error());
  report->trace_path = request.trace_path;
  if (program.files == nullptr) {
    program.files = std::make_unique<NumberedFiles>(directory_of(request.trace_path), exports::memlog_name(*report),
                                                    std::string(format_.extension));
  }
  return program.files->make_next([&](NewFile& file) -> base::Result<> {
    const query::StackIndex stacks(reader->tables());
    const exports::Input input{*report, &*reader, stacks.ids(), exports::metrics().front(), 0};
    if (format_.write_path != nullptr) return format_.write_path(input, file.temporary());
    return exports::write(format_, input, [&file](std::string_view piece) { file.write(piece); });
  });
}

// Once each.
void IncrementalReports::tell(pid_t process, const std::string& why) {
  std::string text = fmt::format("heaptap: no report of process {}: {}\n", process, why);
  if (told_.size() < kMaxTold && told_.insert(text).second) print_error(text);
}

}  // namespace heaptap::app
