#include "capture/process/thread_stopper.h"

#include <algorithm>
#include <cerrno>
#include <thread>

#include "capture/process/process_status.h"
#include "capture/process/ptrace_refusal.h"
#include "common/arch/native.h"
#include "common/arch/thread_facts.h"

namespace heaptap::process {
namespace {

bool has_ended(pid_t thread) {
  const auto status = read_thread_status(thread);
  return !status || status->state == 'Z' || status->state == 'X';
}

}  // namespace

base::Result<> ThreadStopper::stop_all() {
  base::Result<> stopped = try_to_stop_all();
  if (!stopped) release();
  return stopped;
}

base::Result<> ThreadStopper::try_to_stop_all() {
  const auto status = read_thread_status(process_);
  if (!status) return base::fail("no process {}", process_);
  if (status->process != process_) {
    return base::fail("{} is a thread of process {}", process_, status->process);
  }
  do {
    // Running threads may create new ones: repeated until a list has no unknown thread.
    for (bool found = true; found;) {
      const base::Result<bool> adopted = adopt_new_threads();
      if (!adopted) return std::unexpected(adopted.error());
      found = *adopted;
      HEAPTAP_TRY(wait_until_stopped());
    }
  } while (!read_all_registers());
  if (stopped_.empty()) return base::fail("process {} has ended", process_);
  return find_architecture();
}

// Threads with unknown registers are skipped; without any other one it is heaptap's own architecture.
base::Result<> ThreadStopper::find_architecture() {
  const auto other = base::fail("process {} runs code of several architectures, or of an unsupported one", process_);
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
  if (arch::thread_facts(architecture_) == nullptr) return other;
  return {};
}

base::Result<bool> ThreadStopper::adopt_new_threads() {
  bool found = false;
  for (const pid_t id : list_threads(process_)) {
    if (traced_.contains(id)) continue;
    TracedThread thread(id, id == process_);
    if (const int reason = thread.seize(); reason != 0) {
      if (reason == ESRCH || has_ended(id)) continue;
      return std::unexpected(ptrace_refusal(process_, id, reason));
    }
    thread.interrupt();
    traced_.emplace(id, thread);
    found = true;
  }
  return found;
}

base::Result<> ThreadStopper::wait_until_stopped() {
  using State = TracedThread::State;
  for (unsigned round = 0;; ++round) {
    const auto waited = Clock::now() - started_;
    bool all = true;
    for (auto& [id, thread] : traced_) {
      if (in_kernel_.contains(id) || thread.poll() != State::kRunning) continue;
      // Rarely, as reading /proc costs more than waiting.
      const bool look = round % 64 == 63;
      if (look && has_ended(id)) continue;
      if (look && waited > limits_.deep_in_kernel) leave_in_kernel(thread);
      all = all && in_kernel_.contains(id);
    }
    if (all) return {};
    if (waited > limits_.all_stopped) return base::fail("process {} could not be stopped in time; try again", process_);
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

// False: a thread is no longer stopped (killed, or replaced by execve).
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

TracedThread* ThreadStopper::thread_for_calls() {
  for (auto& [id, thread] : traced_) {
    const bool is_ready = !in_kernel_.contains(id) && thread.can_make_calls() && thread.cpu() != nullptr;
    if (is_ready && thread.tell_calls_from_signals()) return &thread;
  }
  return nullptr;
}

base::Result<> ThreadStopper::settle(TracedThread& thread, int signal) {
  thread.go_on_into_stop(signal);
  return wait_until_stopped();
}

void ThreadStopper::release() {
  for (auto& [id, thread] : traced_) thread.detach();
}

}  // namespace heaptap::process
