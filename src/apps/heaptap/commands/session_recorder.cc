#include "apps/heaptap/commands/session_recorder.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <utility>

#include "capture/uplink/local_client.h"
#include "capture/uplink/local_console.h"
#include "common/base/safe_text.h"
#include "common/base/small_file.h"
#include "views/client/recorder.h"

namespace heaptap::app {
namespace {

namespace fs = std::filesystem;

base::Error recorded_by_target(uint32_t pid, const uplink::LocalHost& host) {
  const std::string by = fmt::format("process {} is being recorded by heaptap-target", pid);
  if (host.is_file) {
    return base::make_error("{}, into a file: when that ends, `heaptap connect FILE` reads it", by);
  }
  if (host.peer.empty()) {
    return base::make_error("{}, and no host is connected: `heaptap connect ADDRESS` on one takes it over", by);
  }
  return base::make_error("{}, for the host {}: run this there, with -H; `heaptap-target status` shows the recording",
                          by, base::safe_text(host.peer));
}

// heaptap-target on this machine has it for another one: a second tracer isn't possible, and a second agent neither.
base::Result<> check_no_target_records(uint32_t pid) {
  for (const std::string& answer : uplink::ask_local_consoles("figures")) {
    const std::vector<std::string> lines = base::split(answer, '\n');
    const auto host = lines.empty() ? std::nullopt : uplink::LocalHost::of_line(lines.front());
    if (!host) continue;
    const bool is_recorded = std::ranges::any_of(lines, [pid](const std::string& line) {
      const auto figures = uplink::LocalFigures::of_line(line);
      return figures && figures->pid == pid;
    });
    if (is_recorded) return std::unexpected(recorded_by_target(pid, *host));
  }
  return {};
}

}  // namespace

std::string temporary_directory() {
  const char* const named = std::getenv("TMPDIR");
  return named != nullptr && *named != '\0' ? named : "/tmp";
}

base::Result<std::unique_ptr<client::Recording>> recording_of(const MachineOptions& machine, uint32_t pid) {
  auto recording = client::connect_to_process(pid, machine.host);
  if (recording || client::has_listener({static_cast<pid_t>(pid), machine.host})) return recording;
  if (machine.host.empty()) HEAPTAP_TRY(check_no_target_records(pid));
  return nullptr;
}

base::Result<std::unique_ptr<client::Recording>> recording_instead(const MachineOptions& machine, uint32_t pid,
                                                                   const base::Error& failure) {
  auto recording = recording_of(machine, pid);
  if (recording && *recording != nullptr) return recording;
  return std::unexpected(failure);
}

base::Result<std::unique_ptr<SessionRecorder>> SessionRecorder::attach_to(const MachineOptions& machine, uint32_t pid,
                                                                          const Plan& plan) {
  std::vector<std::string> arguments{"attach", "--quiet"};
  if (machine.is_here()) arguments.insert(arguments.end(), {"--via", "auto"});
  if (plan.output.empty() && !plan.keeps_trace && !plan.scans_at_end) arguments.emplace_back("--no-leak-scan");
  return begin(machine, std::move(arguments), pid, plan);
}

base::Result<std::unique_ptr<SessionRecorder>> SessionRecorder::start(const MachineOptions& machine,
                                                                      const std::vector<std::string>& command,
                                                                      const Plan& plan) {
  std::vector<std::string> arguments{"run", "--quiet", "--"};
  arguments.insert(arguments.end(), command.begin(), command.end());
  return begin(machine, std::move(arguments), 0, plan);
}

// "attach --quiet -o TRACE PID", "run --quiet -o TRACE -- COMMAND"
base::Result<std::unique_ptr<SessionRecorder>> SessionRecorder::begin(const MachineOptions& machine,
                                                                      std::vector<std::string> arguments, uint32_t pid,
                                                                      const Plan& plan) {
  std::unique_ptr<SessionRecorder> recorder(new SessionRecorder());
  recorder->host_ = machine.host;
  recorder->pid_ = pid;
  HEAPTAP_TRY(recorder->choose_trace(plan));
  if (!recorder->trace_.empty()) arguments.insert(arguments.begin() + 1, {"-o", recorder->trace_});
  const std::vector<std::string> where = machine.words();
  arguments.insert(arguments.begin() + 1, where.begin(), where.end());
  if (pid != 0) arguments.push_back(std::to_string(pid));
  auto started = BackgroundRecorder::start(arguments, recorder->output_.get(), recorder->end_signal());
  if (!started) return std::unexpected(std::move(started).error());
  recorder->recorder_ = *std::move(started);
  return recorder;
}

base::Result<> SessionRecorder::choose_trace(const Plan& plan) {
  const std::string parent = temporary_directory();
  std::string name = parent + "/heaptap-session-XXXXXX";
  trace_ = plan.output;
  if (plan.output.empty() && !plan.keeps_trace) {
    if (mkdtemp(name.data()) == nullptr)
      return base::fail("can't make a directory for the trace in '{}': {}; TMPDIR names another one", parent,
                        base::reason_of(errno));
    directory_ = name;
    trace_ = directory_ + "/session.%p.htap";
  }
  output_.reset(open(parent.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (output_) return {};
  // Some file systems have no unnamed files.
  std::string file = parent + "/heaptap-output-XXXXXX";
  output_.reset(mkostemp(file.data(), O_CLOEXEC));
  if (!output_) return base::fail("can't make a file in '{}': {}", parent, base::reason_of(errno));
  (void)unlink(file.c_str());
  return {};
}

// `heaptap run` passes it on to the program, except SIGINT, which the terminal sends.
int SessionRecorder::end_signal() const { return pid_ == 0 ? SIGTERM : SIGINT; }

// The end of the output: a program may have written a lot.
std::string SessionRecorder::said() const {
  constexpr off_t kMaxShown = 4096;
  const off_t size = lseek(output_.get(), 0, SEEK_END);
  std::string text(static_cast<size_t>(std::clamp<off_t>(size, 0, kMaxShown)), '\0');
  const ssize_t got = pread(output_.get(), text.data(), text.size(), std::max<off_t>(size - kMaxShown, 0));
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  while (text.ends_with('\n')) text.pop_back();
  constexpr std::string_view kPrefix = "heaptap: ";
  return text.starts_with(kPrefix) ? text.substr(kPrefix.size()) : text;
}

// Another heaptap may have begun to record the process just before this one's, which fails then.
base::Result<std::unique_ptr<client::Recording>> SessionRecorder::try_to_connect() const {
  if (pid_ == 0) return recorder_->connect();
  const auto reached = client::reach_recorder({static_cast<pid_t>(pid_), host_});
  if (!reached || reached->recorder != static_cast<pid_t>(recorder_->pid()))
    return base::fail("process {} is not being recorded yet", pid_);
  return client::connect_to_process(pid_, host_);
}

base::Result<std::unique_ptr<client::Recording>> SessionRecorder::connect(const std::function<bool()>& wait) {
  while (true) {
    if (auto recording = try_to_connect()) return recording;
    if (recorder_->has_ended()) {
      const std::string text = said();
      return base::fail("{}", text.empty() ? "the recording ended before it could be shown" : text);
    }
    if (!wait()) return base::fail("interrupted");
  }
}

std::string SessionRecorder::path_of(const std::string& name) const {
  return (fs::path(trace_).parent_path() / fs::path(name).filename()).string();
}

void SessionRecorder::end() {
  if (recorder_) recorder_->end(end_signal());
}

SessionRecorder::~SessionRecorder() {
  end();
  std::error_code ignored;
  if (!directory_.empty()) fs::remove_all(directory_, ignored);
}

}  // namespace heaptap::app
