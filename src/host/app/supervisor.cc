#include "host/app/supervisor.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <mutex>

#include "host/app/trace_name.h"
#include "wire/architecture.h"

namespace heaptap::app {
namespace {

constexpr int kLongestPauseMs = 20;
constexpr uint64_t kBacklogBytes = 1024 * 1024;  // a drain that brought that many left some behind
constexpr uint64_t kBusyBytes = 256 * 1024;  // a drain that brought that many records is followed by the next one soon

constexpr std::chrono::milliseconds kProgressTick{wire::kEndingPatienceMs / 8};

std::atomic<pid_t> g_forward_to{0};
std::atomic<int> g_stop_requested{0};

// What is sent to heaptap alone is meant for the program. The terminal's own signals reach the program by themselves.
void forward_signal(int number) {
  const pid_t program = g_forward_to.load(std::memory_order_relaxed);
  if (program > 0) {
    kill(program, number);
  } else {
    g_stop_requested.store(number, std::memory_order_relaxed);
  }
}

void set_handler(int number, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(number, &action, nullptr);
}

model::ExitStatus exit_of(int status) {
  model::ExitStatus exit;
  if (WIFEXITED(status)) exit.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) exit.signal = WTERMSIG(status);
  return exit;
}

// What waitpid tells of a process may also be that a scan has stopped it just now.
bool has_ended(pid_t pid, int& status) {
  int news = 0;
  if (waitpid(pid, &news, WNOHANG) != pid || (!WIFEXITED(news) && !WIFSIGNALED(news))) return false;
  status = news;
  return true;
}

std::vector<std::string> command_of(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/cmdline", pid), std::ios::binary);
  std::vector<std::string> command;
  for (std::string argument; std::getline(file, argument, '\0');) command.push_back(argument);
  return command;
}

std::string executable_of(pid_t pid) {
  std::error_code ignored;
  return std::filesystem::read_symlink(fmt::format("/proc/{}/exe", pid), ignored).string();
}

}  // namespace

Supervisor::~Supervisor() {
  for (const Process& process : processes_) {
    if (process.descriptor >= 0) close(process.descriptor);
  }
}

int Supervisor::watch(const target::Launched& program) {
  program_ = program;
  g_forward_to.store(program.process, std::memory_order_relaxed);
  for (const int number : {SIGINT, SIGQUIT, SIGPIPE}) set_handler(number, SIG_IGN);
  for (const int number : {SIGTERM, SIGHUP}) set_handler(number, forward_signal);
  while (!program_ended_ || !processes_.empty()) {
    wait_for_news();
    accept_agents();
    drain();
    look_at_endings();
    answer_calls();
    end_processes();
    if (program_ended_ && g_stop_requested.load(std::memory_order_relaxed) != 0) {
      for (Process& process : processes_) end(process, {});
      processes_.clear();
    }
  }
  std::stable_partition(traces_.begin(), traces_.end(), [&](const FinishedTrace& trace) {
    return trace.pid == static_cast<uint32_t>(program_.process);
  });
  return program_status_;
}

void Supervisor::wait_for_news() {
  std::vector<pollfd> waits{{server_.socket(), POLLIN, 0}, {bell_.descriptor(), POLLIN, 0}};
  if (!program_ended_) waits.push_back({program_.descriptor, POLLIN, 0});
  for (const Process& process : processes_) {
    waits.push_back({process.descriptor, POLLIN, 0});
    waits.push_back({process.control->descriptor(), POLLIN, 0});
  }
  const bool records = !processes_.empty();
  poll(waits.data(), waits.size(), records ? pause_ms_ : 1000);
  bell_.silence();
}

void Supervisor::accept_agents() {
  while (auto request = server_.accept()) begin(*request);
}

void Supervisor::begin(const target::AgentRequest& request) {
  const auto same = std::find_if(processes_.begin(), processes_.end(),
                                 [&](const Process& process) { return process.pid == request.process; });
  if (same != processes_.end()) {  // it executed another program: a recording of its own
    end(*same, {});
    processes_.erase(same);
  }
  auto recording = make_recording(describe(request.hello, request.process));
  if (!recording) {
    traces_.push_back({"", static_cast<uint32_t>(request.process), recording.error().message});
    target::AgentServer::answer(request, nullptr);
    return;
  }
  auto control =
      std::make_unique<ControlSocket>(request.process);  // before the program can go on: it can be asked for at once
  if (!target::AgentServer::answer(request, &(*recording)->log())) return;
  const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, request.process, 0));
  bell_.add((*recording)->log().header());
  processes_.push_back({request.process, descriptor, std::move(*recording), std::move(control)});
}

void Supervisor::drain() {
  uint64_t most = 0;
  for (const Process& process : processes_) most = std::max(most, process.recording->poll());
  if (most >= kBacklogBytes) {
    pause_ms_ = 0;
  } else if (most >= kBusyBytes) {
    pause_ms_ = 1;
  } else if (most == 0) {
    pause_ms_ = std::clamp(pause_ms_ * 2, 1, kLongestPauseMs);
  } else {
    pause_ms_ = std::clamp(pause_ms_, 2, 8);
  }
}

void Supervisor::look_at_endings() {
  for (Process& process : processes_) {
    wire::LogHeader& log = process.recording->log().header();
    const auto notice = target::take_ending(log);
    if (!notice) continue;
    scan_at_end(process, *notice);
    target::finish_ending(log);  // where it waits still
  }
}

void Supervisor::scan_at_end(Process& process, const wire::EndingNotice& notice) {
  const auto progress = keep_showing_progress();
  (void)process.recording->scan(process.pid, notice);  // a failure is noted in the trace
}

void Supervisor::answer_calls() {
  for (Process& process : processes_) {
    while (auto call = process.control->accept()) {
      const auto progress = keep_showing_progress();
      const auto number = process.recording->scan(process.pid, std::nullopt);
      std::error_code ignored;
      call->answer(number ? ScanAnswer{*number, std::filesystem::absolute(process.recording->path(), ignored).string()}
                          : ScanAnswer{0, number.error().message});
    }
  }
}

// While the result lives, programs that wait see that this one is at work. Nothing else may change `processes_` meanwhile.
std::jthread Supervisor::keep_showing_progress() {
  return std::jthread([this](const std::stop_token& stop) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any ticks;
    while (!stop.stop_requested()) {
      show_progress();
      ticks.wait_for(lock, stop, kProgressTick, [] { return false; });
    }
  });
}

void Supervisor::show_progress() {
  for (Process& process : processes_) target::show_progress(process.recording->log().header());
}

void Supervisor::end_processes() {
  if (!program_ended_ && has_ended(program_.process, program_status_)) {
    program_ended_ = true;
    g_forward_to.store(0, std::memory_order_relaxed);
    set_handler(SIGINT, forward_signal);
    // A program that ended before its agent came this far is in the queue still.
    accept_agents();
    const bool known = std::any_of(processes_.begin(), processes_.end(),
                                   [&](const Process& process) { return process.pid == program_.process; });
    const bool failed = std::any_of(traces_.begin(), traces_.end(), [&](const FinishedTrace& trace) {
      return trace.pid == static_cast<uint32_t>(program_.process);
    });
    if (!known && !failed) {  // the agent was never loaded: a trace that says so
      if (auto recording = make_recording(describe({}, program_.process))) {
        processes_.push_back(
            {program_.process, -1, std::move(*recording), std::make_unique<ControlSocket>(program_.process)});
      }
    }
  }
  std::erase_if(processes_, [this](Process& process) {
    const bool is_program = process.pid == program_.process;
    pollfd news{process.descriptor, POLLIN, 0};
    const bool ended = is_program ? program_ended_ : process.descriptor < 0 || poll(&news, 1, 0) > 0;
    if (ended) end(process, is_program ? exit_of(program_status_) : model::ExitStatus{});
    return ended;
  });
}

void Supervisor::end(Process& process, const model::ExitStatus& exit) {
  const auto written = process.recording->finish(exit);
  bell_.remove(process.recording->log().header());
  traces_.push_back({process.recording->path(), static_cast<uint32_t>(process.pid),
                     written ? std::string() : written.error().message});
  if (process.descriptor >= 0) close(process.descriptor);
  process.descriptor = -1;
}

model::Capture Supervisor::describe(const wire::Hello& hello, pid_t pid) const {
  const bool is_start = pid == program_.process && traces_.empty() && hello.reason == wire::StartReason::kStart;
  model::Capture capture;
  capture.command = is_start ? options_.command : command_of(pid);
  capture.executable = is_start ? options_.executable : executable_of(pid);
  if (capture.command.empty()) capture.command = {capture.executable};
  capture.pid = static_cast<uint32_t>(pid);
  capture.parent_pid = static_cast<uint32_t>(hello.parent_pid);
  capture.host_name = host_name();
  capture.architecture = wire::name_of(static_cast<wire::Architecture>(hello.architecture));
  capture.word_bytes = hello.word_bytes != 0 ? hello.word_bytes : 8;
  capture.page_bytes = static_cast<uint32_t>(sysconf(_SC_PAGESIZE));
  capture.via = "agent";
  capture.from_start = hello.reason == wire::StartReason::kStart;
  capture.heaptap_version = HEAPTAP_VERSION;
  return capture;
}

base::Result<std::unique_ptr<Recording>> Supervisor::make_recording(const model::Capture& capture) {
  const std::string& program = capture.command.empty() ? capture.executable : capture.command.front();
  std::string path;
  for (unsigned nth = 0;; ++nth) {
    path = trace_path(options_.output, program, capture.pid, nth);
    const bool taken =
        used_paths_.contains(path) || (options_.output.empty() && !options_.overwrite && std::filesystem::exists(path));
    if (!taken) break;
  }
  used_paths_.insert(path);
  return Recording::create(options_.log, capture, path, options_.overwrite);
}

}  // namespace heaptap::app
