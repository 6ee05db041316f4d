// Commands of the console that begin a recording: another heaptap makes it, which this one connects to.
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "app/console_commands.h"
#include "app/console_connection.h"
#include "app/trace_file.h"
#include "base/safe_text.h"
#include "base/unique_fd.h"
#include "console/file_names.h"
#include "console/interrupts.h"

namespace heaptap::app {
namespace {

using console::Words;

// Free in the working directory, beside the traces.
base::Result<std::string> new_log() {
  constexpr int kMaxLogs = 1000;
  for (int number = 1; number <= kMaxLogs; ++number) {
    std::string path = fmt::format("heaptap.console.{}.{}.log", getpid(), number);
    const base::UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (file) return path;
    if (errno != EEXIST) return base::fail("can't write the log '{}': {}", path, base::reason_of(errno));
  }
  return base::fail("there are {} logs of this console already", kMaxLogs);
}

// The last lines of what it said.
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

// Another heaptap, in a session of its own: no key of this terminal reaches it or what it starts.
class Recorder {
 public:
  static base::Result<Recorder> start(Words arguments) {
    auto log = new_log();
    if (!log) return std::unexpected(std::move(log).error());
    Recorder recorder;
    recorder.log_ = *std::move(log);
    arguments.insert(arguments.begin(), "heaptap");
    std::vector<char*> words;
    for (std::string& word : arguments) words.push_back(word.data());
    words.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, recorder.log_.c_str(), O_WRONLY | O_APPEND, 0);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t defaults;
    sigemptyset(&defaults);
    for (const int number : {SIGPIPE, SIGINT, SIGHUP, SIGTERM, SIGTSTP}) sigaddset(&defaults, number);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF);
    const int error = posix_spawn(&recorder.pid_, "/proc/self/exe", &actions, &attributes, words.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (error != 0) return base::fail("can't start heaptap: {}", base::reason_of(error));
    return recorder;
  }

  [[nodiscard]] uint32_t pid() const { return static_cast<uint32_t>(pid_); }
  [[nodiscard]] const std::string& log() const { return log_; }
  // It is not waited for again then.
  bool has_ended() {
    if (!is_ended_) is_ended_ = waitpid(pid_, nullptr, WNOHANG) == pid_;
    return is_ended_;
  }

 private:
  Recorder() = default;
  pid_t pid_ = 0;
  std::string log_;
  bool is_ended_ = false;
};

using Connected = base::Result<std::unique_ptr<live::Recording>>;

// The one that this heaptap makes.
Connected connect_to_recorder(uint32_t recorder) {
  for (const live::Offer& offer : live::recordings_of_this_user()) {
    auto recording = live::connect_to_process(offer.pid);
    if (!recording) continue;
    const auto settings = (*recording)->settings();
    if (settings && settings->collector_pid == recorder) return recording;
  }
  return base::fail("heaptap (pid {}) records nothing yet", recorder);
}

// Where heaptap.latest.htap leads, and since when; empty: there is none.
std::pair<std::string, std::filesystem::file_time_type> newest() {
  const auto trace = newest_trace();
  std::error_code error;
  if (!trace) return {};
  const auto file = std::filesystem::weakly_canonical(*trace, error);
  return {file.string(), std::filesystem::last_write_time(file, error)};
}

base::Result<> record(ConsoleSession& session, Words arguments, const std::function<Connected(uint32_t)>& connect) {
  using namespace std::chrono_literals;
  constexpr int kPauseMs = 50;
  const auto before = newest();
  auto recorder = Recorder::start(std::move(arguments));
  if (!recorder) return std::unexpected(std::move(recorder).error());
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  while (std::chrono::steady_clock::now() < deadline) {
    console::throw_if_interrupted();
    const bool has_ended = recorder->has_ended();
    if (auto recording = connect(recorder->pid())) {
      session.take(*std::move(recording));
      session.settings.process = 0;
      return session.print(fmt::format("connected; what heaptap and the program print is in {}\n", recorder->log()));
    }
    if (has_ended) break;
    (void)poll(nullptr, 0, kPauseMs);
  }
  if (!recorder->has_ended()) {
    return base::fail("no connection to heaptap (pid {}), which goes on; it says, in {}:{}", recorder->pid(),
                      recorder->log(), end_of(recorder->log()));
  }
  // It was faster than we.
  const auto after = newest();
  if (after.first.empty() || after == before) {
    return base::fail("heaptap recorded nothing; it says, in {}:{}", recorder->log(), end_of(recorder->log()));
  }
  auto past = connect_to(after.first);
  if (!past) return std::unexpected(std::move(past).error());
  session.take(*std::move(past));
  session.settings.process = 0;
  return session.print(fmt::format("it has ended already: this is its trace, {}; what it printed is in {}\n",
                                   base::safe_text(after.first), recorder->log()));
}

base::Result<> run(ConsoleSession& session, const Words& arguments) {
  if (arguments.empty()) return base::fail_as(base::ErrorKind::kUsage, "run: which program? `run PROGRAM [ARG...]`");
  Words words = arguments;
  words.insert(words.begin(), "run");
  return record(session, std::move(words), connect_to_recorder);
}

base::Result<> attach(ConsoleSession& session, const Words& arguments) {
  if (arguments.empty()) return base::fail_as(base::ErrorKind::kUsage, "attach: which process? `attach PID`");
  const auto pid = parse_pid(arguments.front());
  if (!pid) return std::unexpected(pid.error());
  if (auto recording = live::connect_to_process(*pid)) {
    session.take(*std::move(recording));
    session.settings.process = 0;
    return session.print(fmt::format("connected to the recording of process {}\n", *pid));
  }
  Words words = arguments;
  words.insert(words.begin(), "attach");
  return record(session, std::move(words), [pid = *pid](uint32_t) { return live::connect_to_process(pid); });
}

}  // namespace

std::vector<console::Command> program_commands(ConsoleSession& session) {
  const auto files = [](const Words&, const std::string& word) { return console::file_names(word); };
  return {
      {.name = "run",
       .usage = "run [OPTIONS] PROGRAM [ARG...]",
       .summary = "record a program from its start, and connect to the recording",
       .help = "  As `heaptap run`, in the background: the program reads nothing, and no key of this terminal reaches "
               "it. What it\n"
               "  and heaptap print goes into heaptap.console.PID.N.log. It goes on when the console ends.\n",
       .run = [&session](const Words& words) { return run(session, words); },
       .complete = files},
      {.name = "attach",
       .usage = "attach PID [OPTIONS]",
       .summary = "record a running process, or connect to its recording",
       .help = "  As `heaptap attach`, in the background; `detach` ends it. A process that is recorded already is\n"
               "  connected to.\n",
       .run = [&session](const Words& words) { return attach(session, words); }},
  };
}

}  // namespace heaptap::app
