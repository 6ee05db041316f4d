#include "process/thread_stopper.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "arch/native.h"
#include "arch/thread_facts.h"
#include "process/process_status.h"

namespace heaptap::process {
namespace {

bool has_ended(pid_t thread) {
  const auto status = read_thread_status(thread);
  return !status || status->state == 'Z' || status->state == 'X';
}

std::string name_of(pid_t process) { return "process " + std::to_string(process); }

}  // namespace

std::string ThreadStopper::stop_all() {
  std::string error = try_to_stop_all();
  if (!error.empty()) let_go();
  return error;
}

std::string ThreadStopper::try_to_stop_all() {
  const auto status = read_thread_status(process_);
  if (!status) return "there is no " + name_of(process_);
  if (status->process != process_) {
    return std::to_string(process_) + " is a thread of process " + std::to_string(status->process);
  }
  do {
    // Threads that still run may make new ones until all of a list are stopped and the next list has no other.
    for (bool found = true; found;) {
      std::string error = adopt_new_threads(found);
      if (error.empty()) error = wait_until_stopped();
      if (!error.empty()) return error;
    }
  } while (!read_all_registers());
  if (stopped_.empty()) return name_of(process_) + " has ended";
  return find_architecture();
}

// Threads whose registers aren't known say nothing about it; where there are no others it is that of heaptap.
std::string ThreadStopper::find_architecture() {
  const std::string other =
      name_of(process_) + " runs code of several architectures, or of one that can't be looked at yet";
  bool is_known = false;
  for (const auto& [id, thread] : traced_) {
    if (thread.state() != TracedThread::State::kStopped || in_kernel_.contains(id)) continue;
    const auto runs = thread.cpu() == nullptr ? wire::Architecture::kUnknown : thread.cpu()->architecture();
    if (runs == wire::Architecture::kUnknown || (is_known && runs != architecture_)) {
      return other;
    }
    architecture_ = runs;
    is_known = true;
  }
  if (!is_known) architecture_ = arch::native::kArchitecture;
  return arch::thread_facts(architecture_) != nullptr ? std::string() : other;
}

std::string ThreadStopper::adopt_new_threads(bool& found) {
  found = false;
  for (const pid_t id : list_threads(process_)) {
    if (traced_.contains(id)) continue;
    TracedThread thread(id, id == process_);
    if (const int reason = thread.seize(); reason != 0) {
      if (reason == ESRCH || has_ended(id)) continue;
      return why_refused(id, reason);
    }
    thread.interrupt();
    traced_.emplace(id, thread);
    found = true;
  }
  return {};
}

std::string ThreadStopper::wait_until_stopped() {
  using State = TracedThread::State;
  for (unsigned round = 0;; ++round) {
    const auto waited = Clock::now() - started_;
    bool all = true;
    for (auto& [id, thread] : traced_) {
      if (in_kernel_.contains(id) || thread.poll() != State::kRunning) continue;
      // Looking into /proc costs more than waiting, so rarely.
      const bool look = round % 64 == 63;
      if (look && has_ended(id)) continue;
      if (look && waited > limits_.deep_in_kernel) leave_in_kernel(thread);
      all = all && in_kernel_.contains(id);
    }
    if (all) return {};
    if (waited > limits_.all_stopped) return name_of(process_) + " could not be stopped in time; try again";
    if (round < 16) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(30));
    }
  }
}

void ThreadStopper::leave_in_kernel(TracedThread& thread) {
  const auto status = read_thread_status(thread.id());
  const auto place = read_kernel_place(thread.id());
  if (!status || status->state != 'D' || !place) return;
  StoppedThread& left = in_kernel_[thread.id()];
  left.thread_id = static_cast<uint32_t>(thread.id());
  left.stack_pointer = place->stack_pointer;
  left.program_counter = place->program_counter;
}

// False: a thread isn't stopped any more (one that was killed, or replaced by execve).
bool ThreadStopper::read_all_registers() {
  stopped_.clear();
  bool all = true;
  for (auto& [id, thread] : traced_) {
    if (const auto left = in_kernel_.find(id); left != in_kernel_.end()) {
      stopped_.push_back(left->second);
    } else if (thread.state() == TracedThread::State::kStopped) {
      StoppedThread stopped;
      if (thread.read_registers(stopped)) {
        stopped_.push_back(std::move(stopped));
      } else {
        thread.interrupt();
        all = all && has_ended(id);
      }
    }
  }
  return all || Clock::now() - started_ > limits_.all_stopped;
}

void ThreadStopper::let_go() {
  for (auto& [id, thread] : traced_) thread.detach();
}

std::string ThreadStopper::why_refused(pid_t thread, int reason) const {
  const auto status = read_thread_status(thread);
  if (status && status->tracer != 0) {
    return name_of(process_) + " is already traced by process " + std::to_string(status->tracer) +
           " (a debugger?); end that first";
  }
  if (reason != EPERM) return name_of(process_) + " can't be stopped: " + std::strerror(reason);
  const std::string scope = read_proc_file("/proc/sys/kernel/yama/ptrace_scope");
  if (!scope.empty() && scope.front() == '3') {
    return name_of(process_) + " can't be stopped: kernel.yama.ptrace_scope is 3, which only a reboot changes";
  }
  std::string error = name_of(process_) + " can't be stopped: not permitted. Run heaptap as the same user, or as root";
  if (!scope.empty() && scope.front() != '0') {
    error += "; kernel.yama.ptrace_scope is " + scope.substr(0, 1) + ", so: sudo sysctl kernel.yama.ptrace_scope=0";
  }
  return error;
}

}  // namespace heaptap::process
