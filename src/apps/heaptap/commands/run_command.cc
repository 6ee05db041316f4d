#include "apps/heaptap/commands/run_command.h"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <exception>
#include <filesystem>

#include "analysis/query/analyze.h"
#include "apps/heaptap/commands/agent_file.h"
#include "apps/heaptap/commands/collector_threads.h"
#include "apps/heaptap/commands/end_report.h"
#include "apps/heaptap/commands/file_news.h"
#include "apps/heaptap/commands/incremental_reports.h"
#include "apps/heaptap/commands/kept_files.h"
#include "apps/heaptap/commands/name_sources.h"
#include "apps/heaptap/commands/output_check.h"
#include "apps/heaptap/commands/profile_pushes.h"
#include "apps/heaptap/commands/remote_run.h"
#include "apps/heaptap/commands/run_plan.h"
#include "apps/heaptap/commands/symbols_server.h"
#include "apps/heaptap/commands/terminal.h"
#include "apps/heaptap/commands/tracing_news.h"
#include "capture/inject/injector.h"
#include "capture/launch/launch.h"
#include "capture/launch/own_needs.h"
#include "capture/launch/preload_path.h"
#include "capture/launch/sanitizer_check.h"
#include "capture/log/clock_trust.h"
#include "capture/supervision/agent_server.h"
#include "capture/supervision/agent_source.h"
#include "capture/supervision/supervisor.h"
#include "capture/supervision/trace_name.h"
#include "capture/supervision/tracer_source.h"
#include "common/base/exit_status.h"
#include "common/base/own_limits.h"
#include "common/base/safe_text.h"
#include "common/base/stop_signals.h"
#include "common/base/units.h"
#include "common/base/user_accounts.h"
#include "common/base/wait_status.h"
#include "common/base/whole_number.h"
#include "common/wire/handshake.h"
#include "record/recordings/control_service.h"
#include "record/trace/frame_pool.h"

namespace heaptap::app {
namespace {

namespace fs = std::filesystem;
using base::ErrorKind;

base::Result<gid_t> look_up_group(const std::string& word, std::string_view group) {
  if (const struct group* const entry = getgrnam(std::string(group).c_str())) return entry->gr_gid;
  const auto number = base::whole_number<gid_t>(group);
  if (number && *number != static_cast<gid_t>(-1)) return *number;
  return base::fail_as(ErrorKind::kUsage, "--user {}: no such group", word);
}

// All groups of the user, including the primary one.
std::vector<gid_t> groups_of(const passwd& user) {
  int count = 0;
  (void)getgrouplist(user.pw_name, user.pw_gid, nullptr, &count);
  std::vector<gid_t> groups(static_cast<size_t>(std::max(count, 0)));
  if (getgrouplist(user.pw_name, user.pw_gid, groups.data(), &count) < 0) return {};
  groups.resize(static_cast<size_t>(count));
  return groups;
}

// Looked up as common/base/user_accounts.h describes, in all user databases of this machine.
base::Result<base::Account> look_up_account_here(const std::string& word) {
  const base::UserWord words = base::split_user_word(word);
  const bool names_group = words.user.size() < word.size();
  const auto number = base::whole_number<uid_t>(words.user);
  const bool is_number = number && *number != static_cast<uid_t>(-1);
  const passwd* entry = getpwnam(std::string(words.user).c_str());
  if (entry == nullptr && is_number) entry = getpwuid(*number);
  if (entry == nullptr && !is_number) return base::fail_as(ErrorKind::kUsage, "--user {}: no such user", word);
  if (entry == nullptr && !names_group) {
    return base::fail_as(ErrorKind::kUsage,
                         "--user {}: no user has this number, so its group is unknown: use --user {}:GROUP", word,
                         word);
  }
  base::Account account{.user = entry != nullptr ? entry->pw_uid : *number, .group = 0, .groups = {}};
  if (!names_group) {
    account.group = entry->pw_gid;
    account.groups = groups_of(*entry);
    return account;
  }
  const auto group = look_up_group(word, words.group);
  if (!group) return std::unexpected(group.error());
  account.group = *group;
  return account;
}

base::Result<> look_up_user(const std::string& word, launch::LaunchOptions& launch) {
  if (word.empty()) return {};
  auto account = look_up_account_here(word);
  if (!account) return std::unexpected(std::move(account).error());
  if (geteuid() != 0) {
    if (account->user == geteuid()) return {};  // as it is
    return base::fail("--user {}: only root can start a program as another user; run heaptap with sudo", word);
  }
  launch.user = account->user;
  launch.group = account->group;
  launch.groups = std::move(account->groups);
  return {};
}

log::LogOptions log_options(const RunOptions& options, bool is_in_target) {
  log::LogOptions log;
  if (options.log_memory_bytes > 0) log.chunk_memory_bytes = options.log_memory_bytes;
  constexpr uint64_t kMaxGrowth = 16;
  log.max_chunk_memory_bytes = log.chunk_memory_bytes * kMaxGrowth;
  if (options.aggregate) log.totals_bytes = options.aggregate_memory_bytes;
  log.depth_limit = options.depth;
  log.sample_interval = options.sample_interval;
  log.overflow_policy = options.drop_on_overflow ? wire::OverflowPolicy::kDrop : wire::OverflowPolicy::kWait;
  log.flags = (options.follow_fork ? wire::kFollowFork : 0u) | (options.follow_exec ? wire::kFollowExec : 0u) |
              (options.no_cpp ? wire::kNoCpp : 0u) | (options.python ? wire::kInterpreterFrames : 0u) |
              (options.leak_scan && !options.aggregate && options.sample_interval == 0 ? wire::kScanAtEnd : 0u) |
              wire::flags_for(options.kept_release_stacks());
  log.report_signal = static_cast<uint32_t>(options.report_signal);
  for (const std::string& object : options.omit) log.omitted_objects += object + "\n";
  rlimit file{};
  if (getrlimit(RLIMIT_FSIZE, &file) == 0 && file.rlim_cur != RLIM_INFINITY) log.max_bytes = file.rlim_cur;
  const rlimit space = base::own_limits::of_program(RLIMIT_AS);
  if (is_in_target && space.rlim_cur != RLIM_INFINITY) {
    log.max_bytes =
        std::min<uint64_t>(log.max_bytes, space.rlim_cur / 16);  // the target's own limit must leave room for it
  }
  return log;
}

base::Result<launch::LaunchOptions> launch_options(const RunOptions& options, const launch::Program& program) {
  launch::LaunchOptions launch;
  HEAPTAP_TRY(look_up_user(options.user, launch));
  launch.program = program.path;
  launch.arguments = options.command;
  if (!program.first_arguments.empty()) {
    launch.arguments.erase(launch.arguments.begin());
    launch.arguments.insert(launch.arguments.begin(), program.first_arguments.begin(), program.first_arguments.end());
  }
  launch.environment = options.environment;
  return launch;
}

// The injected agent makes no system call once it has begun, so the log keeps its size, and sees no forks.
void fit_to_injection(log::LogOptions& log) {
  log.max_chunk_memory_bytes = 0;
  log.flags = log.flags & ~(wire::kFollowFork | wire::kFollowExec);
}

supervision::RecordingOptions recording_options(const RunOptions& options, const RunPlan& plan) {
  log::ClockVerdict clock = log::judge_clock(log::read_clock_facts());
  log::LogOptions log = log_options(options, !plan.by_tracer);
  if (plan.injects) fit_to_injection(log);
  if (!clock.is_trusted()) log.flags |= wire::kCountTime;
  return {.log = std::move(log),
          .clock = std::move(clock),
          .output = options.output,
          .overwrite = options.force,
          .numbers_files = options.number_files,
          .via = plan.by_tracer ? "ptrace" : "agent",
          .command = options.command,
          .executable = plan.program ? plan.program->path : "",
          .suppressions = plan.suppressions,
          .tell_unreachable = [](pid_t process, const std::string& why) {
            print_error(fmt::format(
                "heaptap: process {} is recorded, but leaks, top, mark and console can't connect to it: {}\n", process,
                why));
          }};
}

// Result of a recording.
struct Outcome {
  std::vector<supervision::FinishedTrace> traces;
  int status = 0;  // of heaptap itself
  ProgramEnd program = {};
};

Outcome outcome_of(supervision::RecordedProcesses& processes, std::vector<pid_t> named, bool has_failed) {
  Outcome outcome;
  const supervision::StartedProgram& program = processes.program();
  if (program.process > 0) {
    named.insert(named.begin(), program.process);
    outcome.status = program.status.shell_status();
    outcome.program = {.pid = static_cast<uint32_t>(program.process), .exit = supervision::exit_of(program.status)};
  } else if (has_failed) {
    outcome.status = base::kExitFailed;
  }
  outcome.traces = processes.take_traces(named);
  return outcome;
}

// If the recording fails, the program continues, and its status is still reported.
void watch(supervision::Supervisor& supervisor, supervision::RecordedProcesses& processes,
           supervision::RecordingSource& source, std::optional<launch::Launched> launched) try {
  supervisor.watch(std::move(launched));
} catch (const std::exception& error) {
  supervision::StartedProgram& program = processes.program();
  if (!program.runs()) throw;
  source.accept_no_more();  // a tracer detaches: the process may be stopped and wait for an answer
  print_error(fmt::format("heaptap: the recording ended before the program: {}\n", error.what()));
  program.status = base::wait_for(program.process).value_or(program.status);
  program.ended = true;
}

query::Query report_query(const RunOptions& options) {
  query::Query query;
  query.filter.skip = options.skip;
  query.filter.ignores = options.ignores;
  query.symbols = {options.symbols, options.sysroots, options.debuginfod, options.symbols_server};
  return query;
}

// Places of names that the end of the run will look into: with -q it prints none.
symbols::ResolverOptions names_soon(const RunOptions& options) {
  symbols::ResolverOptions names = report_query(options).symbols;
  names.debuginfod = names.debuginfod && !options.quiet;
  return names;
}

// The end that is written is told by the summary, and a failure there with those of all traces.
recordings::RingOptions ring_options(const RunOptions& options) {
  recordings::RingOptions ring = options.ring;
  ring.tell = [quiet = options.quiet](const recordings::KeptPart& part) {
    const std::string program =
        fmt::format("{} ({})", base::safe_text(supervision::program_of(part.capture)), part.capture.pid);
    const bool is_end = part.why.empty();
    if (!is_end && !part.written) {
      print_error(fmt::format("heaptap: {}: the last events of {} can't be written: {}\n", part.why, program,
                              part.written.error().message));
    } else if (quiet) {
      return;
    } else if (!is_end) {
      const std::string what =
          part.since_ns == 0 ? "all" : "what was live, and all since " + base::format_duration(part.since_ns) + ",";
      print_error(fmt::format("heaptap: {}: {} has {} of {}\n", part.why, base::safe_text(part.path), what, program));
    } else if (part.path.empty()) {
      print_error(fmt::format("heaptap: {} ended well: nothing is written (--ring)\n", program));
    }
  };
  return ring;
}

base::Result<Outcome> record_with_agent(const RunOptions& options, const RunPlan& plan, ProfilePushes* pushes) {
  const auto agent = find_agent();
  if (!agent) return std::unexpected(agent.error());
  auto server = supervision::AgentServer::create();
  if (!server) return std::unexpected(std::move(server).error());
  auto launch = launch_options(options, *plan.program);
  if (!launch) return std::unexpected(std::move(launch).error());
  const auto preloaded = launch::PreloadPath::create(*agent);
  if (!preloaded) return base::fail("can't record {}: {}", plan.program->path, preloaded.error().message);
  launch->agent_path = preloaded->path();
  launch->session = server->session();
  // All resources are created before the program runs.
  const recordings::RingOptions ring = ring_options(options);
  KeptFiles files(names_soon(options));
  trace::FramePool frames(collector_threads(options.collector_threads));
  supervision::RecordedProcesses processes(recording_options(options, plan),
                                           followed(files.recording_maker(frames, ring), pushes));
  supervision::AgentSource source(processes, *server);
  IncrementalReports reports(*exports::find_format(options.report_format), report_query(options));
  recordings::ControlService service(processes, source);
  supervision::Supervisor supervisor(
      {.duration = {}, .mark_every = options.mark_every_ns.transform(nanoseconds), .report_writer = &reports},
      processes, source, service);
  source.serve_programs(supervisor.reports());
  auto launched = launch::launch(*launch);
  if (!launched) return std::unexpected(launched.error());
  const supervision::OwnWaits waits = watch_own_waits();
  if (pushes != nullptr) pushes->begin();
  watch(supervisor, processes, source, std::move(*launched));
  files.finish();
  return outcome_of(processes, {}, false);
}

// News of a way that is tried: kept until it is known whether it is taken.
struct TriedNews {
  bool is_open = false;
  std::string refusal;  // of a process
  std::string text;
};

// `tried`: takes them while it is open, in place of the user.
supervision::TracerSourceOptions announcement(const RunOptions& options, const RunPlan& plan, TriedNews& tried) {
  const bool ends_by_itself = options.duration_ns || !options.command.empty();
  const bool announces = !options.quiet && !options.json;
  const bool tells_way = options.command.empty() && plan.by_tracer && !plan.why.empty();
  const std::string way_out =
      fmt::format("{}{}", tells_way ? " by ptrace: " + plan.why : "", ends_by_itself ? "" : "; Ctrl-C detaches");
  const char* const other_way = plan.injects ? "; leave out --via agent, then it is recorded by ptrace" : "";
  return {.follows_exec = options.follow_exec, .tell = [=, &tried](supervision::TracingNews news) {
            const bool is_refused = news.kind == supervision::TracingNews::Kind::kNotRecorded;
            if (is_refused && tried.is_open) {
              tried.refusal = news.why;
              return;
            }
            if (is_refused) news.why += other_way;
            if (!announces && news.kind == supervision::TracingNews::Kind::kRecording) return;
            const std::string text = text_of(news, way_out);
            if (tried.is_open) {
              tried.text += text;
            } else {
              print_error(text);
            }
          }};
}

// The agent detects it itself.
bool is_to_begin_off(const RunOptions& options) {
  const std::string off = std::string(wire::kEnabledVariable) + "=0";
  const std::vector<std::string> own = launch::own_environment(options.environment);
  return std::ranges::find(own, off) != own.end();
}

base::Result<launch::Launched> start_traced(launch::LaunchOptions launch, tracer::TracerClient& line) {
  launch.tracer = line.process();
  launch.before_execution = [&line](pid_t child) { return line.attach_before_exec(child); };
  return launch::launch(launch);
}

// For a recording that failed.
void remove_traces(supervision::RecordedProcesses& processes) {
  std::error_code ignored;
  for (const supervision::FinishedTrace& trace : processes.take_traces({})) {
    if (!trace.path.empty()) fs::remove(trace.path, ignored);
  }
}

// The process that attaches: the tracer, or the one that puts the agent in.
base::Result<std::unique_ptr<tracer::TracerClient>> start_attaching(const RunOptions& options, const RunPlan& plan) {
  if (plan.injects) {
    const auto agent = find_injected_agent();
    return agent ? inject::start_injector(*agent) : std::unexpected(agent.error());
  }
  return tracer::TracerClient::start({.follow_fork = options.follow_fork,
                                      .follow_exec = options.follow_exec,
                                      .no_cpp = options.no_cpp,
                                      .scan_at_end = options.leak_scan,
                                      .report_signal = options.report_signal});
}

base::Result<> check_unrecorded(const std::vector<pid_t>& processes) {
  if (processes.empty()) return {};
  const auto agent = find_injected_agent();
  return agent ? inject::check_unrecorded(processes, *agent) : base::Result<>();
}

base::Result<Outcome> record_with_tracer(const RunOptions& options, const RunPlan& plan, ProfilePushes* pushes) {
  std::optional<launch::LaunchOptions> launch;
  if (plan.program) {
    auto made = launch_options(options, *plan.program);
    if (!made) return std::unexpected(std::move(made).error());
    launch = std::move(*made);
  }
  HEAPTAP_TRY(check_unrecorded(options.processes));
  auto line = start_attaching(options, plan);
  if (!line) {
    return base::fail("can't start {}: {}{}", plan.injects ? "the injector" : "the tracer", line.error().message,
                      plan.why.empty() ? "" : fmt::format(" ({})", plan.why));
  }
  // Behind the tracer's fork, which would keep their descriptors open.
  recordings::WriteWatches watches;
  if (options.leak_scan && !options.aggregate && options.sample_interval == 0) {
    watches = recordings::watch_writes_of(options.processes);
  }
  const recordings::RingOptions ring = ring_options(options);
  KeptFiles files(names_soon(options));
  trace::FramePool frames(collector_threads(options.collector_threads));
  supervision::RecordedProcesses processes(recording_options(options, plan),
                                           followed(files.recording_maker(frames, ring, &watches), pushes));
  if (launch && is_to_begin_off(options)) processes.begin_switched_off(true);
  TriedNews tried{.is_open = plan.may_trace_instead, .refusal = {}, .text = {}};
  supervision::TracerSource source(processes, **line, announcement(options, plan, tried));
  IncrementalReports reports(*exports::find_format(options.report_format), report_query(options));
  recordings::ControlService service(processes, source);
  supervision::Supervisor supervisor({.duration = options.duration_ns.transform(nanoseconds),
                                      .scan_before_detaching = options.leak_scan,
                                      .mark_every = options.mark_every_ns.transform(nanoseconds),
                                      .report_writer = &reports},
                                     processes, source, service);
  source.serve_programs(supervisor.reports());
  for (const pid_t process : options.processes) source.attach(process);
  if (plan.may_trace_instead) {
    base::stop_signals::forward_to(0);  // the user is told of the recording meanwhile
    supervisor.settle();
    if (!tried.refusal.empty()) {
      supervisor.abandon();
      remove_traces(processes);
      return base::fail("{}", tried.refusal);
    }
    tried.is_open = false;
    if (!tried.text.empty()) print_error(tried.text);
  }
  std::optional<launch::Launched> launched;
  if (launch) {
    supervisor.settle();
    auto started = source.failures() == 0
                       ? start_traced(std::move(*launch), **line)
                       : base::fail("{} isn't started: attaching to some processes failed", launch->program);
    if (!started) {
      supervisor.abandon();
      remove_traces(processes);
      return std::unexpected(std::move(started).error());
    }
    launched = std::move(*started);
  }
  const supervision::OwnWaits waits = watch_own_waits();
  if (pushes != nullptr) pushes->begin();
  watch(supervisor, processes, source, std::move(launched));
  files.finish();
  return outcome_of(processes, options.processes, source.failures() > 0 || source.is_broken());
}

// By the agent where that can be put in. `plan` says afterwards which way was taken.
base::Result<Outcome> record_running(const RunOptions& options, RunPlan& plan, ProfilePushes* pushes) {
  auto outcome = record_with_tracer(options, plan, pushes);
  if (outcome || !plan.may_trace_instead) return outcome;
  plan.injects = plan.may_trace_instead = false;
  plan.by_tracer = true;
  plan.why = outcome.error().message;
  return record_with_tracer(options, plan, pushes);
}

base::Result<Outcome> record_on_other_machine(const RunOptions& options, const RunPlan& plan, ProfilePushes* pushes) {
  IncrementalReports reports(*exports::find_format(options.report_format), report_query(options));
  auto recorded = record_remotely(options, recording_options(options, plan), reports, pushes);
  if (!recorded) return std::unexpected(std::move(recorded).error());
  return Outcome{.traces = std::move(recorded->traces), .status = recorded->status};
}

// Checks before the start are made there.
base::Result<RunPlan> make_remote_plan(const RunOptions& options) {
  HEAPTAP_TRY(check_remote(options));
  HEAPTAP_TRY(check_output(options));
  return RunPlan{};
}

// They are stored in the traces.
base::Result<> check_size(const query::Suppressions& suppressions) {
  constexpr size_t kMaxBytes = size_t{16} << 20;
  size_t bytes = 0;
  for (const model::SuppressionText& each : suppressions.texts()) bytes += each.text.size();
  if (bytes <= kMaxBytes) return {};
  return base::fail_as(ErrorKind::kUsage, "--suppressions: the files are larger than what a trace can hold (16 MiB)");
}

base::Result<int> run(const RunOptions& options) {
  const auto suppressions = query::read_suppressions(options.suppressions);
  if (!suppressions) return std::unexpected(suppressions.error());
  HEAPTAP_TRY(check_size(*suppressions));
  auto plan = options.machine.is_here() ? make_plan(options) : make_remote_plan(options);
  if (!plan) return std::unexpected(plan.error());
  plan->suppressions = suppressions->texts();
  auto file = ReportFile::create(options.json_file);
  if (!file) return std::unexpected(std::move(file).error());
  const auto pushes = ProfilePushes::create(options.push, report_query(options).symbols);
  if (!pushes) return std::unexpected(pushes.error());
  base::stop_signals::take_report_requests();
  const auto outcome = !options.machine.is_here()         ? record_on_other_machine(options, *plan, pushes->get())
                       : plan->by_tracer || plan->injects ? record_running(options, *plan, pushes->get())
                                                          : record_with_agent(options, *plan, pushes->get());
  if (!outcome) return std::unexpected(outcome.error());
  if (*pushes != nullptr) (*pushes)->finish(!options.quiet && !options.json);
  for (const supervision::FinishedTrace& trace : outcome->traces) {
    if (trace.failure.empty() && !trace.path.empty())
      remember_name_sources(trace.path, {options.symbols, options.sysroots, options.symbols_server});
  }
  const EndReport end{.options = options,
                      .suppressions = *suppressions,
                      .program = outcome->program,
                      .lead = plan->why.empty() ? "" : "recorded with ptrace: " + plan->why,
                      .file = *file};
  const supervision::OwnWaits waits = watch_own_waits();
  const Gate gate = report_end(end, outcome->traces);
  if (!options.error_exitcode || gate == Gate::kPassed) return outcome->status;
  if (gate == Gate::kFailed) return *options.error_exitcode;
  if (outcome->status != 0) return outcome->status;
  return base::kExitUnknown;
}

// Without pushes a service is recorded nevertheless.
std::unique_ptr<ProfilePushes> pushes_if_possible(const RunOptions& options) {
  auto pushes = ProfilePushes::create(options.push, report_query(options).symbols);
  if (pushes) return *std::move(pushes);
  print_error(fmt::format("heaptap: {}\n", pushes.error().message));
  return nullptr;
}

// For a program that has started and waits. If this fails, it continues unrecorded.
base::Result<> collect_for(const CollectOptions& options) {
  base::stop_signals::take_report_requests();
  const RunOptions& recording = options.recording;
  const auto suppressions = query::read_suppressions(recording.suppressions);
  if (!suppressions) return std::unexpected(suppressions.error());
  HEAPTAP_TRY(check_size(*suppressions));
  HEAPTAP_TRY(launch::check_own_cpu());
  HEAPTAP_TRY(launch::check_own_needs());
  HEAPTAP_TRY(check_output(recording));
  auto file = ReportFile::create(recording.json_file);
  if (!file) return std::unexpected(std::move(file).error());
  const std::unique_ptr<ProfilePushes> pushes = pushes_if_possible(recording);
  auto server = supervision::AgentServer::adopt(base::UniqueFd(wire::kListenerDescriptor), options.session);
  if (!server) return std::unexpected(std::move(server).error());
  RunPlan plan;
  plan.suppressions = suppressions->texts();
  const recordings::RingOptions ring = ring_options(recording);
  KeptFiles files(report_query(recording).symbols);
  trace::FramePool frames(collector_threads(recording.collector_threads));
  supervision::RecordedProcesses processes(recording_options(recording, plan),
                                           followed(files.recording_maker(frames, ring), pushes.get()));
  supervision::AgentSource source(processes, *server);
  source.stay_for(options.process);
  IncrementalReports reports(*exports::find_format(recording.report_format), report_query(recording));
  recordings::ControlService service(processes, source);
  supervision::Supervisor supervisor({.duration = {},
                                      .mark_every = recording.mark_every_ns.transform(nanoseconds),
                                      .report_writer = &reports,
                                      .ends_by_signal = false},
                                     processes, source, service);
  source.serve_programs(supervisor.reports());
  // The program's working directory may be unmounted during the recording.
  if (chdir("/") != 0) return base::fail("can't change to the directory /: {}", base::reason_of(errno));
  const supervision::OwnWaits waits = watch_own_waits();
  if (pushes != nullptr) pushes->begin();
  supervisor.watch(std::nullopt);
  files.finish();
  const EndReport end{.options = recording, .suppressions = *suppressions, .program = {}, .lead = "", .file = *file};
  const std::vector<supervision::FinishedTrace> traces = processes.take_traces({options.process});
  if (pushes != nullptr) pushes->finish(false);
  (void)report_end(end, traces);
  return {};
}

}  // namespace

std::string collectors_log(const std::vector<std::string>& arguments) {
  const char* const output = std::getenv(wire::kOutputVariable);
  if (output == nullptr || *output == '\0') return {};
  const auto pid = static_cast<uint32_t>(arguments.size() > 1 ? std::atol(arguments[1].c_str()) : 0);
  std::error_code error;
  return fs::absolute(supervision::trace_path(output, "", pid, 0) + ".log", error).string();
}

int perform(const CollectOptions& options) {
  const base::Result<> done = collect_for(options);
  if (done) return 0;
  print_error(fmt::format("heaptap: process {} isn't recorded: {}\n", options.process, done.error().message));
  return base::exit_status_of(done.error().kind);
}

int perform(const RunOptions& options) {
  const auto status = run(options);
  if (status) return *status;
  print_error(fmt::format("heaptap: {}\n", status.error().message));
  return base::exit_status_of(status.error().kind);
}

}  // namespace heaptap::app
