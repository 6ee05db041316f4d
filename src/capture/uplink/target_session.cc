#include "capture/uplink/target_session.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "capture/elf/elf_headers.h"
#include "capture/elf/object_file.h"
#include "capture/launch/functions_to_tell.h"
#include "capture/launch/launch.h"
#include "capture/launch/own_needs.h"
#include "capture/launch/preload_path.h"
#include "capture/launch/process_check.h"
#include "capture/launch/program_check.h"
#include "capture/launch/sanitizer_check.h"
#include "capture/log/clock_trust.h"
#include "capture/stream/frame_packing.h"
#include "capture/supervision/agent_server.h"
#include "capture/supervision/agent_source.h"
#include "capture/supervision/own_waits.h"
#include "capture/supervision/supervisor.h"
#include "capture/supervision/tracer_source.h"
#include "capture/uplink/forwarded_recording.h"
#include "capture/uplink/host_service.h"
#include "capture/uplink/news_for_host.h"
#include "capture/uplink/process_share.h"
#include "common/arch/native.h"
#include "common/arch/walked_cpus.h"
#include "common/base/process_file.h"
#include "common/base/small_file.h"
#include "common/base/unique_fd.h"
#include "common/base/user_accounts.h"
#include "common/line/line_messages.h"

namespace heaptap::uplink {
namespace {

using base::ErrorKind;
using base::fail_as;

// Plan of a recording, made before anything is started or stopped.
struct Plan {
  std::optional<launch::Program> program;
  bool by_tracer = false;
  std::optional<launch::PreloadPath> preloaded = {};  // the agent, if not by tracer
};

base::Result<Plan> make_plan(const line::RecordOrder& order, const TargetOptions& options) {
  HEAPTAP_TRY(launch::check_own_cpu());
  HEAPTAP_TRY(launch::check_own_needs());
  Plan plan;
  base::Result<> agent;
  if (!order.processes.empty()) agent = base::fail("the agent can't be loaded into a running program");
  if (options.agent.empty()) agent = base::fail("no agent next to heaptap-target");
  if (!order.command.empty()) {
    auto program = launch::find_program(order.command.front());
    if (!program) return std::unexpected(std::move(program).error());
    plan.program = *std::move(program);
    const std::vector<std::string> environment = launch::own_environment(order.environment);
    if (const auto sanitizer = launch::find_sanitizer(plan.program->file, environment)) {
      return fail_as(ErrorKind::kNotExecutable, "{} runs {}: such a program is recorded on its own machine, by heaptap",
                     plan.program->path, sanitizer->name);
    }
    if (agent && !plan.program->takes_agent) {
      agent = base::fail("{} {}", plan.program->path, plan.program->takes_agent.error().message);
    }
    if (agent && order.via != "ptrace") {
      auto preloaded = launch::PreloadPath::create(options.agent, !order.user.empty());
      if (preloaded) {
        plan.preloaded.emplace(*std::move(preloaded));
      } else {
        agent = std::unexpected(std::move(preloaded).error());
      }
    }
  }
  plan.by_tracer = order.via == "ptrace" || (order.via.empty() && !agent);
  if (order.via == "agent" && !agent) {
    return fail_as(ErrorKind::kNotExecutable, "--via agent: {}; leave out --via agent, then ptrace is used",
                   agent.error().message);
  }
  HEAPTAP_TRY(launch::check_processes(order.processes));
  return plan;
}

base::Result<> look_up_user(const std::string& user, launch::LaunchOptions& launch) {
  if (user.empty()) return {};
  auto account = base::look_up_account(user);
  if (!account) return std::unexpected(std::move(account).error());
  if (geteuid() != 0) {
    if (account->user == geteuid()) return {};  // as it is
    return base::fail("--user {}: only root can start a program as another user", user);
  }
  launch.user = account->user;
  launch.group = account->group;
  launch.groups = std::move(account->groups);
  return {};
}

log::LogOptions log_options(const line::RecordOrder& order, const TargetOptions& options) {
  log::LogOptions log;
  const uint64_t bytes = order.log_memory_bytes > 0 ? order.log_memory_bytes : options.log_memory_bytes;
  if (bytes > 0) log.chunk_memory_bytes = bytes;
  // The target's memory: a requested size is the maximum. Otherwise the log grows as on one machine.
  constexpr uint64_t kMaxGrowth = 16;
  log.max_chunk_memory_bytes = log.chunk_memory_bytes * (bytes > 0 ? 1 : kMaxGrowth);
  constexpr uint64_t kLateRowsBytes = 8u << 20;  // address space; memory is used as rows come
  log.late_rows_bytes = kLateRowsBytes;
  log.depth_limit = order.depth;
  log.overflow_policy = order.drop_on_overflow ? wire::OverflowPolicy::kDrop : wire::OverflowPolicy::kWait;
  log.flags = (order.follow_fork ? wire::kFollowFork : 0u) | (order.follow_exec ? wire::kFollowExec : 0u) |
              (order.no_cpp ? wire::kNoCpp : 0u) | (order.leak_scan ? wire::kScanAtEnd : 0u) |
              wire::flags_for(order.release_stacks);
  log.report_signal = static_cast<uint32_t>(order.report_signal);
  for (const std::string& object : order.omit) log.omitted_objects += object + "\n";
  rlimit file{};
  if (getrlimit(RLIMIT_FSIZE, &file) == 0 && file.rlim_cur != RLIM_INFINITY) log.max_bytes = file.rlim_cur;
  return log;
}

// Must not exist during a fork whose child continues as heaptap.
std::optional<supervision::OwnWaits> watch_own_waits(const TargetOptions& options) {
  if (!options.tell_of_wait) return std::nullopt;
  return std::optional<supervision::OwnWaits>(std::in_place, options.tell_of_wait);
}

class Session {
 public:
  Session(const line::RecordOrder& order, const TargetOptions& options, const SessionHooks& hooks, const Plan& plan)
      : order_(order),
        options_(options),
        hooks_(hooks),
        plan_(plan),
        processes_(recording_options(), [this](const log::LogOptions& log, const model::Capture& capture,
                                               const std::string& /*path*/, bool /*overwrite*/) {
          const size_t others = processes_.all().size();
          auto made =
              ForwardedRecording::create(hooks_.uplink, ++streams_, beside(others, log), capture, forwarding(others));
          if (made) (*made)->list_in(recordings_);
          return made;
        }) {}

  base::Result<model::ExitStatus> record_with_agent() {
    auto server = supervision::AgentServer::create();
    if (!server) return std::unexpected(std::move(server).error());
    auto launch = launch_options();
    if (!launch) return std::unexpected(std::move(launch).error());
    launch->agent_path = plan_.preloaded->path();
    launch->session = server->session();
    supervision::AgentSource source(processes_, *server);
    const auto service = hooks_.service(processes_, recordings_, source);
    supervision::Supervisor supervisor(supervision(), processes_, source, *service);
    source.serve_programs(supervisor.reports());
    auto launched = launch::launch(*launch);
    if (!launched) return std::unexpected(std::move(launched).error());
    hooks_.began();
    const auto waits = watch_own_waits(options_);
    supervisor.watch(*std::move(launched));
    return tell_end();
  }

  base::Result<model::ExitStatus> record_with_tracer() {
    const model::ToldFunctions* const told = hooks_.functions_of(files_of_programs());
    auto line = tracer::TracerClient::start({.follow_fork = order_.follow_fork,
                                             .follow_exec = order_.follow_exec,
                                             .no_cpp = order_.no_cpp,
                                             .scan_at_end = order_.leak_scan,
                                             .report_signal = order_.report_signal,
                                             .told = told != nullptr ? std::optional(*told) : std::nullopt});
    if (!line) return base::fail("can't start the tracer: {}", line.error().message);
    supervision::TracerSource source(processes_, **line, {.follows_exec = order_.follow_exec, .tell = teller()});
    const auto service = hooks_.service(processes_, recordings_, source);
    supervision::Supervisor supervisor(supervision(), processes_, source, *service);
    source.serve_programs(supervisor.reports());
    for (const pid_t process : order_.processes) source.attach(process);
    std::optional<launch::Launched> launched;
    if (plan_.program) {
      supervisor.settle();
      auto launch = launch_options();
      if (!launch) return std::unexpected(std::move(launch).error());
      launch->tracer = (*line)->process();
      launch->before_execution = [&line](pid_t child) { return (*line)->attach_before_exec(child); };
      auto made = launch::launch(*launch);
      if (!made) {
        supervisor.abandon();
        return std::unexpected(std::move(made).error());
      }
      launched = *std::move(made);
    }
    hooks_.began();
    const auto waits = watch_own_waits(options_);
    supervisor.watch(std::move(launched));
    return tell_end();
  }

 private:
  [[nodiscard]] std::vector<std::string> files_of_programs() const {
    std::vector<std::string> files;
    if (plan_.program) files.push_back(plan_.program->file);
    for (const pid_t process : order_.processes) files.push_back(base::process_file(process, "exe"));
    return files;
  }

  [[nodiscard]] supervision::RecordingOptions recording_options() const {
    log::ClockVerdict clock = log::judge_clock(log::read_clock_facts());
    log::LogOptions log = log_options(order_, options_);
    if (!clock.is_trusted()) log.flags |= wire::kCountTime;
    return {.log = std::move(log),
            .clock = std::move(clock),
            .output = "",
            .via = plan_.by_tracer ? "ptrace" : "agent",
            .command = order_.command,
            .executable = plan_.program ? plan_.program->path : "",
            .machine = std::nullopt};
  }

  [[nodiscard]] base::Result<launch::LaunchOptions> launch_options() const {
    launch::LaunchOptions launch;
    HEAPTAP_TRY(look_up_user(order_.user, launch));
    launch.program = plan_.program->path;
    launch.arguments = order_.command;
    const std::vector<std::string>& first = plan_.program->first_arguments;
    if (!first.empty()) {
      launch.arguments.erase(launch.arguments.begin());
      launch.arguments.insert(launch.arguments.begin(), first.begin(), first.end());
    }
    launch.environment = order_.environment;
    return launch;
  }

  [[nodiscard]] std::function<void(const supervision::TracingNews&)> teller() {
    return [this](const supervision::TracingNews& news) {
      if (options_.tell_of_tracer) options_.tell_of_tracer(news);
      if (const auto message = message_of(news)) hooks_.uplink.send(*message);
    };
  }

  [[nodiscard]] supervision::SupervisorOptions supervision() const {
    return {.duration = options_.duration,
            .scan_before_detaching = !hooks_.asks_for_scans && order_.leak_scan && !order_.processes.empty(),
            .stays_with_program = hooks_.stays_with_program};
  }

  model::ExitStatus tell_end() {
    model::ExitStatus exit;
    const supervision::StartedProgram& program = processes_.program();
    if (program.ended) exit = supervision::exit_of(program.status);
    for (const supervision::FinishedTrace& trace : processes_.take_traces({})) {
      if (const auto message = message_of(trace)) hooks_.uplink.send(*message);
    }
    hooks_.uplink.send(line::message_of(line::AllEnded{.exit = exit}));
    return exit;
  }

  static log::LogOptions beside(size_t others, log::LogOptions log) {
    log.max_chunk_memory_bytes = max_log_bytes_beside(others, log.chunk_memory_bytes, log.max_chunk_memory_bytes);
    return log;
  }

  ForwardingOptions forwarding(size_t others) {
    ForwardingOptions forwarding{.gives_memory = options_.gives_memory,
                                 .gives_files = options_.gives_files,
                                 .compression = options_.compression.value_or(order_.compression),
                                 .orphan_timeout = options_.orphan_timeout,
                                 .table_bits = table_bits_beside(others),
                                 .packer = &packer_,
                                 .host = hooks_.host};
    if (options_.exit_wait) forwarding.exit_wait = *options_.exit_wait;
    return forwarding;
  }

  const line::RecordOrder& order_;
  const TargetOptions& options_;
  const SessionHooks& hooks_;
  const Plan& plan_;
  uint64_t streams_ = 0;
  stream::DeflatePacker packer_;  // shared by all processes
  ForwardedRecordings recordings_;
  supervision::RecordedProcesses processes_;
};

// Whether unwind tables have a row for nearly all code. An exception index has none for what can't throw, most of a program in C.
bool are_tables_whole() {
  bool are_whole = true;
  arch::visit_walked_cpu(arch::native::kArchitecture,
                         [&]<typename Cpu>(Cpu) { are_whole = !Cpu::Rules::kHasExceptionIndex; });
  return are_whole;
}

// An address to request rows for, if the program has no unwind tables.
std::optional<uint64_t> address_without_row(const elf::FileBytes& bytes) {
  const auto file = elf::ElfHeaders::read(bytes);
  if (!file) return std::nullopt;
  if (!are_tables_whole()) return model::kNoRowAnywhere;
  const bool has_header = std::ranges::any_of(file->segments(), [](const elf::ElfSegment& segment) {
    return segment.type == PT_GNU_EH_FRAME && segment.memory_bytes > 0;
  });
  const auto sections = file->read_sections(bytes);
  return has_header || elf::find_section(sections, ".eh_frame") != nullptr ? std::nullopt
                                                                           : std::optional(model::kNoRowAnywhere);
}

base::UniqueFd open_program(const std::string& path) {
  return base::UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
}

// Requests to the host before a program's first event. The start waits for the answers, with one time limit for all;
// later answers are still useful for rows, but not for functions.
class EarlyQuestions {
 public:
  explicit EarlyQuestions(LineToHost& host) : host_(host) {}

  void ask_for_rows(const launch::Program& program) {
    const base::UniqueFd file = open_program(program.file);
    if (!file) return;
    const elf::FileBytes bytes(file.get());
    const std::vector<uint8_t> id = elf::read_build_id(bytes);
    if (id.empty()) return;
    const std::string build_id(id.begin(), id.end());
    host_.want_rows(build_id, program.file, address_without_row(bytes));
    host_.take_answers([&] { return !host_.rows().is_answered(build_id); }, until());
  }

  // For static programs without symbols: addresses of their functions.
  void ask_for_functions(const std::vector<std::string>& paths) {
    std::vector<std::string> asked;
    for (const std::string& path : paths) {
      const base::UniqueFd file = open_program(path);
      auto unknown = file ? launch::find_functions_to_tell(file.get()) : std::nullopt;
      if (!unknown) continue;
      // The file's own name, as a process has it; the opened path may be a link.
      const std::string name = base::read_link("/proc/self/fd/" + std::to_string(file.get()));
      host_.want_functions({.build_id = unknown->build_id, .path = name, .names = std::move(unknown->names)});
      asked.push_back(std::move(unknown->build_id));
    }
    const auto is_awaited = [this](const std::string& build_id) { return host_.functions().is_awaited(build_id); };
    host_.take_answers([&] { return std::ranges::any_of(asked, is_awaited); }, until());
  }

 private:
  line::TimePoint until() {
    constexpr std::chrono::seconds kLongestAnswer{2};
    if (!until_) until_ = std::chrono::steady_clock::now() + kLongestAnswer;
    return *until_;
  }

  LineToHost& host_;
  std::optional<line::TimePoint> until_;
};

// Hooks for a host over a line, which is served during the start, and asked for rows before the program runs.
SessionHooks hooks_of(LineToHost& host, const TargetOptions& options) {
  const auto questions = std::make_shared<EarlyQuestions>(host);
  return {.uplink = host,
          .host = &host,
          .service =
              [&](supervision::RecordedProcesses& processes, const ForwardedRecordings& recordings,
                  supervision::RecordingSource& source) {
                return std::make_unique<HostService>(host, processes, recordings, source, options.orphan_timeout,
                                                     !options.policy.attach_only);
              },
          .prepare =
              [&host, questions](const launch::Program& program) {
                if (host.has_met_host()) questions->ask_for_rows(program);
              },
          .functions_of = [&host, questions](const std::vector<std::string>& files) -> const model::ToldFunctions* {
            if (!host.has_met_host()) return nullptr;
            questions->ask_for_functions(files);
            return &host.functions().told();
          }};
}

}  // namespace

base::Result<model::ExitStatus> record(const line::RecordOrder& order, const TargetOptions& options,
                                       const SessionHooks& hooks) {
  auto waits = watch_own_waits(options);
  const auto plan = make_plan(order, options);
  if (!plan) return std::unexpected(plan.error());
  if (plan->program) hooks.prepare(*plan->program);
  waits.reset();
  Session session(order, options, hooks, *plan);
  return plan->by_tracer ? session.record_with_tracer() : session.record_with_agent();
}

base::Result<> record_for_host(const line::RecordOrder& order, uint64_t request, const TargetOptions& options,
                               LineToHost& host) {
  host.files().begin(order.fetches, options.gives_files);
  SessionHooks hooks = hooks_of(host, options);
  hooks.stays_with_program = false;
  hooks.began = [&] { answer(host.link().line(), request, {}); };
  const auto recorded = record(order, options, hooks);
  if (recorded) return {};
  answer(host.link().line(), request, std::unexpected(recorded.error()));
  return std::unexpected(recorded.error());
}

base::Result<model::ExitStatus> record_for_host_to_come(const line::RecordOrder& order, const TargetOptions& options,
                                                        LineToHost& host) {
  host.files().begin(true, options.gives_files);
  return record(order, options, hooks_of(host, options));
}

}  // namespace heaptap::uplink
