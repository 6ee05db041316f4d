#include "app/top_recorder.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

#include "app/top_connection.h"
#include "base/own_limits.h"

namespace heaptap::app {
namespace {

namespace fs = std::filesystem;

std::string temporary_directory() {
  const char* const named = std::getenv("TMPDIR");
  return named != nullptr && *named != '\0' ? named : "/tmp";
}

// In a new process, before it executes heaptap: only what is async-signal-safe. The recording ends with its parent.
[[noreturn]] void become_recorder(pid_t parent, int end_signal, int input, int output, char** arguments) {
  (void)setsid();
  (void)prctl(PR_SET_PDEATHSIG, end_signal);
  if (getppid() != parent) _exit(1);
  sigset_t none;
  sigemptyset(&none);
  (void)sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) (void)signal(number, SIG_DFL);
  const bool is_ready =
      dup2(input, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0 && dup2(output, STDERR_FILENO) >= 0;
  base::own_limits::give_back();
  if (is_ready) execv("/proc/self/exe", arguments);
  _exit(127);
}

}  // namespace

base::Result<std::unique_ptr<TopRecorder>> TopRecorder::attach_to(uint32_t pid, const std::string& output) {
  std::vector<std::string> arguments{"attach", "--quiet"};
  if (output.empty()) arguments.emplace_back("--no-leak-scan");
  return begin(std::move(arguments), pid, output);
}

base::Result<std::unique_ptr<TopRecorder>> TopRecorder::start(const std::vector<std::string>& command,
                                                              const std::string& output) {
  std::vector<std::string> arguments{"run", "--quiet", "--"};
  arguments.insert(arguments.end(), command.begin(), command.end());
  return begin(std::move(arguments), 0, output);
}

// "attach --quiet -o TRACE PID", "run --quiet -o TRACE -- COMMAND"
base::Result<std::unique_ptr<TopRecorder>> TopRecorder::begin(std::vector<std::string> arguments, uint32_t pid,
                                                              const std::string& output) {
  std::unique_ptr<TopRecorder> recorder(new TopRecorder());
  recorder->pid_ = pid;
  HEAPTAP_TRY(recorder->choose_trace(output));
  arguments.insert(arguments.begin() + 1, {"-o", recorder->trace_});
  if (pid != 0) arguments.push_back(std::to_string(pid));
  HEAPTAP_TRY(recorder->execute(arguments));
  return recorder;
}

base::Result<> TopRecorder::choose_trace(const std::string& output) {
  const std::string parent = temporary_directory();
  std::string name = parent + "/heaptap-top-XXXXXX";
  if (output.empty()) {
    if (mkdtemp(name.data()) == nullptr)
      return base::fail("can't make a directory for the trace in '{}': {}; TMPDIR names another one", parent,
                        base::reason_of(errno));
    directory_ = name;
  }
  trace_ = output.empty() ? directory_ + "/top.%p.htap" : output;
  output_.reset(open(parent.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (output_) return {};
  // Some file systems have no files without a name.
  std::string file = parent + "/heaptap-top-output-XXXXXX";
  output_.reset(mkostemp(file.data(), O_CLOEXEC));
  if (!output_) return base::fail("can't make a file in '{}': {}", parent, base::reason_of(errno));
  (void)unlink(file.c_str());
  return {};
}

base::Result<> TopRecorder::execute(const std::vector<std::string>& arguments) {
  std::vector<std::string> words{"heaptap"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const base::UniqueFd nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!nothing) return base::fail("can't open /dev/null: {}", base::reason_of(errno));
  const pid_t parent = getpid();
  recorder_ = fork();
  if (recorder_ < 0) return base::fail("can't start heaptap {}: {}", arguments.front(), base::reason_of(errno));
  if (recorder_ == 0) become_recorder(parent, end_signal(), nothing.get(), output_.get(), pointers.data());
  return {};
}

// `heaptap run` hands it on to the program; SIGINT it leaves to the terminal.
int TopRecorder::end_signal() const { return pid_ == 0 ? SIGTERM : SIGINT; }

bool TopRecorder::has_ended() {
  if (recorder_ <= 0) return true;
  int status = 0;
  if (waitpid(recorder_, &status, WNOHANG) != recorder_) return false;
  recorder_ = -1;
  return true;
}

// A program that is started is a child of its recorder.
std::vector<uint32_t> TopRecorder::candidates() const {
  if (pid_ != 0) return {pid_};
  std::ifstream children(fmt::format("/proc/{}/task/{}/children", recorder_, recorder_));
  std::vector<uint32_t> pids;
  for (uint32_t pid = 0; children >> pid;) pids.push_back(pid);
  return pids;
}

// The end of it: a program may have written a lot.
std::string TopRecorder::said() const {
  constexpr off_t kMaxShown = 4096;
  const off_t size = lseek(output_.get(), 0, SEEK_END);
  std::string text(static_cast<size_t>(std::clamp<off_t>(size, 0, kMaxShown)), '\0');
  const ssize_t got = pread(output_.get(), text.data(), text.size(), std::max<off_t>(size - kMaxShown, 0));
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  while (text.ends_with('\n')) text.pop_back();
  constexpr std::string_view kPrefix = "heaptap: ";
  return text.starts_with(kPrefix) ? text.substr(kPrefix.size()) : text;
}

base::Result<std::unique_ptr<live::Recording>> TopRecorder::connect(const std::function<bool()>& wait) {
  while (true) {
    for (const uint32_t pid : candidates()) {
      if (auto recording = live::connect_to_process(pid)) return recording;
    }
    if (has_ended()) {
      const std::string text = said();
      return base::fail("{}", text.empty() ? "the recording ended before it began" : text);
    }
    if (!wait()) return base::fail("interrupted");
  }
}

TopRecorder::~TopRecorder() {
  if (!has_ended()) {
    (void)kill(recorder_, end_signal());
    int status = 0;
    while (waitpid(recorder_, &status, 0) < 0 && errno == EINTR) {
    }
  }
  std::error_code ignored;
  if (!directory_.empty()) fs::remove_all(directory_, ignored);
}

}  // namespace heaptap::app
