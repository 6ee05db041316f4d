#include "host/app/run_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "host/analysis/analyze.h"
#include "host/app/exit_status.h"
#include "host/app/program_check.h"
#include "host/app/supervisor.h"
#include "host/app/trace_name.h"
#include "host/report/render.h"
#include "target/agent_server.h"
#include "target/launch.h"
#include "wire/handshake.h"

namespace heaptap::app {
namespace {

namespace fs = std::filesystem;
using base::ErrorKind;

base::Result<> refuse_what_is_missing(const RunOptions& options) {
  if (options.via == "ptrace") {
    return base::fail_as(ErrorKind::kUsage,
                         "--via ptrace is not available in this version; leave it out (--via agent)");
  }
  if (options.aggregate && options.aggregate_memory_bytes < target::kLeastTotalsBytes) {
    return base::fail_as(ErrorKind::kUsage, "--aggregate-memory: at least 1M is needed");
  }
  return {};
}

// The agent's library: beside this program, or where an installation has it.
base::Result<std::string> find_agent() {
  std::error_code error;
  const fs::path own = fs::read_symlink("/proc/self/exe", error);
  for (const fs::path& folder : {own.parent_path(), own.parent_path().parent_path() / "lib" / "heaptap"}) {
    const fs::path candidate = folder / wire::kAgentFileName;
    if (fs::exists(candidate, error)) return candidate.string();
  }
  return base::fail("{} is missing beside {}: build it with ./dev build, or install heaptap anew", wire::kAgentFileName,
                    own.string());
}

// Whether the trace can be written is found out before the program is started.
base::Result<> check_output(const RunOptions& options) {
  const fs::path pattern = options.output.empty() ? fs::path("trace") : fs::path(options.output);
  const fs::path folder = pattern.has_parent_path() ? pattern.parent_path() : fs::path(".");
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    return base::fail("can't write the trace to {}: there is no folder {}", options.output, folder.string());
  }
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    return base::fail("can't write the trace into the folder {}: {}; choose another place with -o FILE",
                      folder.string(), base::reason_of(errno));
  }
  if (fs::is_directory(pattern, error) && !options.output.empty()) {
    return base::fail("can't write the trace to {}: it is a directory; name a file in it", options.output);
  }
  const bool is_known = !options.output.empty() && options.output.find("%p") == std::string::npos;
  const std::string path = is_known ? trace_path(options.output, "", 0, 0) : (folder / ".heaptap.probe").string();
  if (is_known && fs::exists(path, error)) {
    if (!options.force) {
      return base::fail("{} exists already: choose another name with -o FILE, or overwrite it with --force", path);
    }
    return {};
  }
  // Only making a file tells whether one can be made.
  const int probe = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (probe < 0) {
    return base::fail("can't write the trace to {}: {}; choose another place with -o FILE",
                      is_known ? path : folder.string(), base::reason_of(errno));
  }
  close(probe);
  fs::remove(path, error);
  return {};
}

base::Result<> look_up_user(const std::string& name, target::LaunchOptions& launch) {
  if (name.empty()) return {};
  const passwd* entry = getpwnam(name.c_str());
  if (entry == nullptr) return base::fail_as(ErrorKind::kUsage, "--user {}: there is no such user", name);
  if (geteuid() != 0 && entry->pw_uid != geteuid()) {
    return base::fail("--user {}: only root can start a program as another user; run heaptap with sudo", name);
  }
  launch.user = entry->pw_uid;
  launch.group = entry->pw_gid;
  return {};
}

target::LogOptions log_options(const RunOptions& options) {
  target::LogOptions log;
  if (options.log_memory_bytes > 0) log.chunk_memory_bytes = options.log_memory_bytes;
  if (options.aggregate) log.totals_bytes = options.aggregate_memory_bytes;
  log.depth_limit = options.depth;
  log.overflow_policy = options.drop_on_overflow ? wire::OverflowPolicy::kDrop : wire::OverflowPolicy::kWait;
  log.flags = (options.follow_fork ? wire::kFollowFork : 0u) | (options.follow_exec ? wire::kFollowExec : 0u) |
              (options.no_cpp ? wire::kNoCpp : 0u) | (options.leak_scan && !options.aggregate ? wire::kScanAtEnd : 0u);
  for (const std::string& object : options.omit) log.omitted_objects += object + "\n";
  rlimit space{};
  if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY) {
    log.most_bytes = space.rlim_cur / 16;  // the target's own limit: leave it its room
  }
  return log;
}

struct EndReport {
  std::string text;
  uint64_t leaks = 0;   // blocks that are lost for certain
  uint64_t errors = 0;  // bad, double and mismatched releases
};

base::Result<EndReport> summary_of(const RunOptions& options, const analysis::Suppressions& suppressions,
                                   const std::string& trace) {
  auto reader = intake::TraceReader::open(trace);
  if (!reader) return std::unexpected(std::move(reader).error());
  ProgressLine progress;
  analysis::Query query;
  query.sort = options.sort;
  query.limit = options.json ? options.count : options.count != 0 ? options.count : 10;
  query.errors = options.sanity;
  query.statistics = false;
  query.suppressions = suppressions;
  if (!options.json && !reader->scans().empty()) {
    query.leaks_only = true;
    query.sort = analysis::SortKey::kLeakedBytes;
  }
  query.symbols = {options.symbols, options.sysroots, options.debuginfod};
  query.progress = [&progress](uint64_t done, uint64_t total) { progress.update(done, total); };
  auto report = analysis::analyze(*reader, query);
  if (!report) return std::unexpected(std::move(report).error());
  report->trace_path = trace;
  const report::RenderOptions render{.color = use_color(options.color, STDERR_FILENO), .limit = options.count};
  const report::Totals& totals = report->totals;
  return EndReport{options.json ? report::render_json(*report, report::View::kSummary, render)
                                : report::render_end_summary(*report, render),
                   report->leaks.scanned ? report->leaks.definite.blocks : 0,
                   totals.bad_frees + totals.double_frees + totals.mismatched_frees};
}

void say(const base::Error& error) { print_error(fmt::format("heaptap: {}\n", error.message)); }

// What is printed when all is over. True: it found what --error-exitcode is for.
bool report_end(const RunOptions& options, const analysis::Suppressions& suppressions,
                const std::vector<FinishedTrace>& traces) {
  for (const FinishedTrace& trace : traces) {
    if (!trace.failure.empty()) {
      say({trace.failure});
    }
  }
  if (traces.empty() || traces.front().path.empty()) return false;
  link_latest(traces.front().path);
  if (options.quiet && !options.error_exitcode) return false;
  const auto summary = summary_of(options, suppressions, traces.front().path);
  if (!summary) say(summary.error());
  if (summary && !options.quiet) print_error(summary->text);
  for (size_t i = 1; i < traces.size() && options.verbose; ++i) {
    print_error(fmt::format("heaptap: process {} is in {}\n", traces[i].pid, traces[i].path));
  }
  return options.error_exitcode && summary && (summary->leaks > 0 || (options.sanity && summary->errors > 0));
}

base::Result<int> run(const RunOptions& options) {
  HEAPTAP_TRY(refuse_what_is_missing(options));
  const auto suppressions = analysis::read_suppressions(options.suppressions);
  if (!suppressions) return std::unexpected(suppressions.error());
  const auto program = find_program(options.command.front());
  if (!program) return std::unexpected(program.error());
  const auto agent = find_agent();
  if (!agent) return std::unexpected(agent.error());
  HEAPTAP_TRY(check_output(options));
  target::AgentServer server;
  if (server.socket() < 0) return base::fail("can't make the agent's socket: {}", base::reason_of(errno));

  target::LaunchOptions launch;
  HEAPTAP_TRY(look_up_user(options.user, launch));
  launch.program = program->path;
  launch.arguments = options.command;
  if (!program->first_arguments.empty()) {
    launch.arguments.erase(launch.arguments.begin());
    launch.arguments.insert(launch.arguments.begin(), program->first_arguments.begin(), program->first_arguments.end());
  }
  launch.environment = options.environment;
  launch.agent_path = *agent;
  launch.session = server.name();

  Supervisor supervisor({log_options(options), options.output, options.force, options.command, program->path}, server);
  const target::Launched launched = target::launch(launch);
  if (launched.process < 0) {
    const ErrorKind kind = launched.error == ENOENT ? ErrorKind::kNotFound : ErrorKind::kNotExecutable;
    return base::fail_as(kind, "can't run {}: {}", program->path, base::reason_of(launched.error));
  }
  const int status = supervisor.watch(launched);
  close(launched.descriptor);
  if (report_end(options, *suppressions, supervisor.traces())) return *options.error_exitcode;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

int run_program(const RunOptions& options) {
  const auto status = run(options);
  if (status) return *status;
  say(status.error());
  return exit_status_of(status.error().kind);
}

}  // namespace heaptap::app
