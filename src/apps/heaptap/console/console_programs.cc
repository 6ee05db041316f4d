// Console commands that start a recording: a background heaptap records, and this one connects to it.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <optional>

#include "apps/heaptap/commands/background_recorder.h"
#include "apps/heaptap/commands/trace_file.h"
#include "apps/heaptap/console/console_commands.h"
#include "apps/heaptap/console/console_connection.h"
#include "common/base/clock.h"
#include "common/base/safe_text.h"
#include "common/base/unique_fd.h"
#include "record/trace/run_index.h"
#include "views/shell/file_names.h"
#include "views/shell/interrupts.h"

namespace heaptap::app {
namespace {

using shell::Words;

// A free name in the working directory, where traces are.
base::Result<std::string> new_log() {
  constexpr int kMaxLogs = 1000;
  for (int number = 1; number <= kMaxLogs; ++number) {
    std::string path = fmt::format("heaptap.console.{}.{}.log", getpid(), number);
    const base::UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (file) return path;
    if (errno != EEXIST) return base::fail("can't write the log '{}': {}", path, base::reason_of(errno));
  }
  return base::fail("{} logs of this console exist already", kMaxLogs);
}

// The last lines of its output.
std::string end_of(const std::string& log) {
  constexpr size_t kLines = 5;
  std::ifstream file(log);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(base::safe_text(line));
    if (lines.size() > kLines) lines.erase(lines.begin());
  }
  std::string text;
  for (const std::string& line : lines) text += "\n  " + line;
  return text;
}

// The newest trace here of a recording that began after `began_ns` (wall clock), of process `pid` (0: any). Another
// recording that ends at the same time leaves a newer trace than the wanted one.
std::optional<std::string> trace_begun_at(uint64_t began_ns, uint32_t pid) {
  const auto newest = newest_trace();
  if (!newest) return std::nullopt;
  std::string main = *newest;
  if (trace::is_run_index(main)) {
    const auto entries = trace::read_run_index(main);
    if (!entries) return std::nullopt;
    main = entries->front().trace;
  }
  const auto source = open_trace(main);
  if (!source) return std::nullopt;
  const model::Capture& capture = (*source)->capture();
  if (capture.start_unix_ns < began_ns || (pid != 0 && capture.pid != pid)) return std::nullopt;
  std::error_code error;
  return std::filesystem::weakly_canonical(*newest, error).string();
}

// By `heaptap COMMAND ARGUMENTS`, which records process `pid`; 0: one that it starts.
base::Result<> record(ConsoleSession& session, const char* command, const Words& arguments, uint32_t pid) {
  using namespace std::chrono_literals;
  constexpr int kPauseMs = 50;
  const uint64_t began_ns = base::clock_ns(CLOCK_REALTIME);
  const auto log = new_log();
  if (!log) return std::unexpected(log.error());
  const base::UniqueFd output(open(log->c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (!output) return base::fail("can't write the log '{}': {}", *log, base::reason_of(errno));
  Words words{command};
  const Words where = session.machine.words();
  words.insert(words.end(), where.begin(), where.end());
  if (session.settings.symbols_server != nullptr) {
    const Words server = session.settings.symbols_server->words();
    words.insert(words.end(), server.begin(), session.machine.is_here() ? server.end() : server.begin() + 1);
  }
  words.insert(words.end(), arguments.begin(), arguments.end());
  auto recorder = BackgroundRecorder::start(words, output.get(), std::nullopt, session.recorder_environment);
  if (!recorder) return std::unexpected(std::move(recorder).error());
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  while (std::chrono::steady_clock::now() < deadline) {
    shell::throw_if_interrupted();
    const bool has_ended = recorder->has_ended();
    if (auto recording = recorder->connect()) {
      session.take(*std::move(recording));
      session.settings.process = 0;
      return session.print(fmt::format("connected; output of heaptap and of the program goes to {}\n", *log));
    }
    if (has_ended) break;
    (void)poll(nullptr, 0, kPauseMs);
  }
  if (!recorder->has_ended()) {
    return base::fail("can't connect to heaptap (pid {}), which is still running; its output, in {}:{}",
                      recorder->pid(), *log, end_of(*log));
  }
  // It ended before the connection, or recorded nothing.
  const auto trace = trace_begun_at(began_ns, pid);
  if (!trace) return base::fail("heaptap has ended without a trace; its output, in {}:{}", *log, end_of(*log));
  auto past = connect_to(*trace);
  if (!past) return std::unexpected(std::move(past).error());
  session.take(*std::move(past));
  session.settings.process = 0;
  return session.print(
      fmt::format("already ended: showing its trace, {}; its output is in {}\n", base::safe_text(*trace), *log));
}

base::Result<> run(ConsoleSession& session, const Words& arguments) {
  if (arguments.empty()) return base::fail_as(base::ErrorKind::kUsage, "run: no program given: `run PROGRAM [ARG...]`");
  return record(session, "run", arguments, 0);
}

base::Result<> attach(ConsoleSession& session, const Words& arguments) {
  if (arguments.empty()) return base::fail_as(base::ErrorKind::kUsage, "attach: no PID given: `attach PID`");
  const auto pid = parse_pid(arguments.front());
  if (!pid) return std::unexpected(pid.error());
  if (auto recording = client::connect_to_process(*pid, session.machine.host)) {
    session.take(*std::move(recording));
    session.settings.process = 0;
    return session.print(fmt::format("connected to the recording of process {}\n", *pid));
  }
  return record(session, "attach", arguments, *pid);
}

}  // namespace

std::vector<shell::Command> program_commands(ConsoleSession& session) {
  const auto files = [](const Words&, const std::string& word) { return shell::file_names(word); };
  return {
      {.name = "run",
       .usage = "run [OPTIONS] PROGRAM [ARG...]",
       .summary = "record a program from its start, and connect to the recording",
       .help =
           "  Like `heaptap run`, in the background: the program's input is empty, and keys typed here don't reach it. "
           "Its output\n  and heaptap's goes to heaptap.console.PID.N.log. It keeps running when the console ends.\n",
       .run = [&session](const Words& words) { return run(session, words); },
       .complete = files},
      {.name = "attach",
       .usage = "attach PID [OPTIONS]",
       .summary = "record a running process, or connect to its recording",
       .help = "  Like `heaptap attach`, in the background; `detach` ends it. If the process is being recorded "
               "already,\n  the console connects to that recording.\n",
       .run = [&session](const Words& words) { return attach(session, words); }},
  };
}

}  // namespace heaptap::app
