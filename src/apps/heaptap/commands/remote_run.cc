#include "apps/heaptap/commands/remote_run.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "apps/heaptap/commands/announced_target.h"
#include "apps/heaptap/commands/collector_threads.h"
#include "apps/heaptap/commands/fetching.h"
#include "apps/heaptap/commands/host_announcement.h"
#include "apps/heaptap/commands/profile_pushes.h"
#include "apps/heaptap/commands/row_finder.h"
#include "apps/heaptap/commands/symbols_server.h"
#include "apps/heaptap/commands/terminal.h"
#include "apps/heaptap/commands/tracing_news.h"
#include "capture/supervision/supervisor.h"
#include "common/base/exit_status.h"
#include "common/base/intervals.h"
#include "common/base/wait_status.h"
#include "record/recordings/control_service.h"
#include "record/remote/line_to_target.h"
#include "record/remote/remote_source.h"
#include "record/remote/resolve.h"
#include "record/trace/frame_pool.h"

namespace heaptap::app {
namespace {

using base::ErrorKind;
using base::fail_as;

// Prefix of an address to listen on.
constexpr std::string_view kListens = "listen:";

bool listens(const RunOptions& options) { return options.machine.host.starts_with(kListens); }

// A file of `heaptap-target record`; not a socket.
bool is_file(const RunOptions& options) {
  std::error_code ignored;
  return options.machine.takes_over && std::filesystem::is_regular_file(options.machine.host, ignored);
}

// A path that may be that of a file or of a socket.
bool is_missing(const RunOptions& options) {
  std::error_code ignored;
  return options.machine.takes_over && options.machine.host.contains('/') &&
         !std::filesystem::exists(options.machine.host, ignored);
}

// The expected key is looked up before any query is sent.
base::Result<remote::LineToTarget> make_line_by_name(const RunOptions& options) {
  auto security = security_of_named(options.machine.host, options.machine.token_file);
  if (!security) return std::unexpected(std::move(security).error());
  auto addresses = find_announced(options.machine.host);
  if (!addresses) return std::unexpected(std::move(addresses).error());
  return remote::LineToTarget(options.machine.host, *std::move(addresses), *std::move(security));
}

constexpr uint16_t kWaitingPort = 7421;  // if free and no address is given

base::Result<channel::Listener> listen_anywhere(const channel::Security& security) {
  const in_addr all{INADDR_ANY};
  auto listener = channel::Listener::listen(channel::Address::of_number(all, kWaitingPort), security, {});
  if (listener) return listener;
  return channel::Listener::listen(channel::Address::of_number(all, 0), security, {});
}

// Listens for targets: at an address, or if none is given, at an announced one.
base::Result<remote::LineToTarget> make_waiting_line(const RunOptions& options, HostAnnouncement& announcement) {
  auto security = security_of({.token_file = options.machine.token_file});
  if (!security) return std::unexpected(std::move(security).error());
  const std::string where = options.machine.host.substr(kListens.size());
  if (where.empty()) HEAPTAP_TRY(HostAnnouncement::check());
  const auto address = where.empty() ? base::Result<channel::Address>() : channel::parse_address(where);
  if (!address) return std::unexpected(address.error());
  auto listener = where.empty() ? listen_anywhere(*security) : channel::Listener::listen(*address, *security, {});
  if (!listener) return std::unexpected(std::move(listener).error());
  if (where.empty()) announcement.set_service(listener->address().port(), security->token.has_value());
  if (!options.quiet) {
    print_error(fmt::format("heaptap: waiting at {} for heaptap-target connect{}\n", listener->address().to_text(),
                            where.empty() ? ", which finds it on the local networks" : ""));
  }
  remote::LineToTarget line(options.machine.host, *std::move(listener));
  if (where.empty()) line.set_teller(announcement);
  return line;
}

base::Result<remote::LineToTarget> make_line(const RunOptions& options, HostAnnouncement& announcement) {
  if (is_file(options)) {
    auto file = uplink::RecordingFileReader::open(options.machine.host);
    if (!file) return std::unexpected(std::move(file).error());
    return remote::LineToTarget(options.machine.host, *std::move(file));
  }
  if (listens(options)) return make_waiting_line(options, announcement);
  if (channel::is_name_alone(options.machine.host)) return make_line_by_name(options);
  auto security = security_of({.token_file = options.machine.token_file, .target = options.machine.host});
  if (!security) return std::unexpected(std::move(security).error());
  const auto address = channel::parse_address(options.machine.host);
  if (!address) return std::unexpected(address.error());
  auto addresses = remote::resolve(*address);
  if (!addresses) return std::unexpected(std::move(addresses).error());
  for (const channel::Address& each : *addresses) HEAPTAP_TRY(channel::check(*security, each));
  return remote::LineToTarget(options.machine.host, *std::move(addresses), *std::move(security));
}

line::RecordOrder order_of(const RunOptions& options, bool fetches) {
  return {.command = options.command,
          .environment = options.environment,
          .user = options.user,
          .processes = options.processes,
          .via = options.via == "auto" ? "" : options.via,
          .follow_fork = options.follow_fork,
          .follow_exec = options.follow_exec,
          .no_cpp = options.no_cpp,
          .leak_scan = options.leak_scan,
          .drop_on_overflow = options.drop_on_overflow,
          .depth = options.depth,
          .release_stacks = options.kept_release_stacks(),
          .log_memory_bytes = options.log_memory_bytes,
          .report_signal = options.report_signal,
          .omit = options.omit,
          .fetches = fetches,
          .compression = options.compression};
}

// Failures, and what lets programs hang.
bool is_said_always(line::LineNews::Kind kind) {
  using enum line::LineNews::Kind;
  return kind == kOver || kind == kNotRecorded || kind == kTracerWaits || kind == kTracerLooks;
}

bool is_news(line::LineNews::Kind kind, const RunOptions& options) {
  if (options.quiet) return is_said_always(kind);
  return kind != line::LineNews::Kind::kAttached || !options.json;
}

std::string line_text(const line::LineNews& news, const RunOptions& options) {
  const std::string& host = options.machine.host;
  using NewsKind = line::LineNews::Kind;
  switch (news.kind) {
    case NewsKind::kLost:
      return fmt::format("lost the connection to {} ({}); reconnecting", host, news.text);
    case NewsKind::kBack:
      return fmt::format("reconnected to {}", host);
    case NewsKind::kRefused:
      return fmt::format("{} was refused: {}", news.peer, news.text);
    case NewsKind::kOver:
      return fmt::format("{}: {}", host, news.text);
    case NewsKind::kTracerWaits:
    case NewsKind::kTracerLooks:
      return fmt::format(
          "{}: {}", host,
          text_of_wait({.process = news.process, .place = news.text, .looks = news.kind == NewsKind::kTracerLooks}));
    case NewsKind::kAttached:
      return fmt::format("recording process {}{} on {}{}", news.process,
                         news.text.empty() ? "" : " (" + news.text + ")", host,
                         options.duration_ns ? "" : "; Ctrl-C detaches");
    case NewsKind::kNotRecorded:
    case NewsKind::kSaid:
      break;
  }
  return news.text;
}

}  // namespace

base::Result<> check_remote(const RunOptions& options) {
  if (options.report_signal != 0 && options.machine.takes_over) {
    return fail_as(ErrorKind::kUsage,
                   "--report-signal needs a recording started from here; leave it out, and send SIGUSR1 to heaptap");
  }
  if (options.python) {
    return fail_as(ErrorKind::kUsage, "--python: heaptap-target's agent doesn't read Python's frames; leave it out");
  }
  if (options.sample_interval != 0) {
    return fail_as(ErrorKind::kUsage, "--sample: heaptap-target's agent doesn't sample; leave it out");
  }
  if (!options.aggregate) return {};
  return fail_as(ErrorKind::kUsage,
                 "--aggregate keeps its totals in the target's memory, which is on another machine; "
                 "leave it out");
}

base::Result<RemoteOutcome> record_remotely(const RunOptions& options, supervision::RecordingOptions recording,
                                            supervision::ReportWriter& reports, ProfilePushes* pushes) {
  HostAnnouncement announcement;
  auto line = make_line(options, announcement);
  if (!line) return std::unexpected(std::move(line).error());
  if (options.machine.takes_over) line->set_takes_over(options.machine.by_force, options.machine.process);
  // A target may take any time to connect; Ctrl-C ends the wait.
  const auto connected = line->connect(listens(options) ? std::chrono::hours(24 * 365) : base::intervals().reach);
  if (!connected && is_missing(options)) {
    return base::fail(
        "can't connect to {}: no such file or directory: neither a file of `heaptap-target record`, nor a socket where "
        "`heaptap-target serve` waits for a host",
        options.machine.host);
  }
  HEAPTAP_TRY(connected);
  const auto rows = make_row_finder({options.symbols, options.sysroots, options.debuginfod}, options.symbols_server);
  remote::RemoteSource source(*line, [&options](const line::LineNews& news) {
    if (is_news(news.kind, options)) print_error(fmt::format("heaptap: {}\n", line_text(news, options)));
  });
  if (rows != nullptr) source.set_row_finder(*rows);
  trace::FramePool frames(collector_threads(options.collector_threads));
  source.set_frame_pool(frames);
  recording.machine = options.machine.host;
  recording.via.clear();  // chosen by the other machine
  supervision::RecordedProcesses processes(std::move(recording), followed(source.maker(), pushes));
  source.serve(processes);
  recordings::ControlService service(processes, source);
  supervision::Supervisor supervisor({.duration = options.duration_ns.transform(nanoseconds),
                                      .scan_before_detaching = options.leak_scan && !line->is_file(),
                                      .mark_every = options.mark_every_ns.transform(nanoseconds),
                                      .report_writer = &reports,
                                      .elsewhere = &source},
                                     processes, source, service);
  Fetching fetching(options);
  if (!line->is_file()) fetching.serve(source);
  if (!options.machine.takes_over) {
    if (const auto begun = source.begin(order_of(options, fetching.is_on())); !begun) {
      line->say_farewell();
      return std::unexpected(begun.error());
    }
  }
  if (pushes != nullptr) pushes->begin();
  supervisor.watch(std::nullopt);
  fetching.finish(source);
  line->say_farewell();
  // Traces are in the order of their ends: without this a child that ended before its parent would be taken for the program.
  std::vector<pid_t> named = options.processes;
  if (named.empty() && source.first_process() != 0) named.push_back(source.first_process());
  RemoteOutcome outcome{.traces = processes.take_traces(named), .status = 0};
  const model::ExitStatus& exit = source.program_exit();
  if (exit.code) outcome.status = *exit.code;
  if (exit.signal) outcome.status = base::shell_status_of(*exit.signal);
  if (source.has_failed() && outcome.status == 0) outcome.status = base::kExitFailed;
  return outcome;
}

}  // namespace heaptap::app
