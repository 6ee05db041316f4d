#include "capture/process/stopped_process.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <future>
#include <thread>

#include "capture/process/thread_stopper.h"
#include "common/arch/native.h"
#include "common/arch/thread_facts.h"

namespace heaptap::process {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

struct StoppedProcess::State {
  pid_t process = 0;
  wire::Architecture architecture = wire::Architecture::kUnknown;
  std::vector<StoppedThread> threads;
  Clock::time_point began;
  Clock::time_point ended;
  bool released = false;
  std::promise<base::Result<>> result;
  std::promise<void> release;
  std::function<void()> release_held;  // if held by another owner
  std::thread tracer;

  // Runs in the tracing thread.
  void trace(const StopLimits& limits) {
    std::future<void> released_later = release.get_future();
    ThreadStopper collector(process, limits);
    base::Result<> stopped = collector.stop_all();
    threads = std::move(collector.threads());
    architecture = collector.architecture();
    const bool is_stopped = stopped.has_value();
    result.set_value(std::move(stopped));
    if (!is_stopped) return;
    released_later.wait();
    collector.release();
  }

  void end() {
    if (released) return;
    released = true;
    if (release_held) {
      release_held();
    } else {
      release.set_value();
      tracer.join();
    }
    ended = Clock::now();
  }
};

base::Result<StoppedProcess> StoppedProcess::stop(pid_t process, const StopLimits& limits) {
  if (arch::thread_facts(arch::native::kArchitecture) == nullptr) {  // before anything is stopped
    return base::fail("the threads of programs of this CPU can't be read yet ({})",
                      wire::name_of(arch::native::kArchitecture));
  }
  auto state = std::make_unique<State>();
  state->process = process;
  state->began = Clock::now();
  // Signal handlers must not run in the tracing thread.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  state->tracer = std::thread([limits, own = state.get()] { own->trace(limits); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  base::Result<> outcome = state->result.get_future().get();
  StoppedProcess stopped(std::move(state));
  if (!outcome) {
    stopped.release();
    return std::unexpected(std::move(outcome).error());
  }
  return stopped;
}

StoppedProcess StoppedProcess::held(Held process, std::function<void()> release) {
  auto state = std::make_unique<State>();
  state->process = process.process;
  state->architecture = process.architecture;
  state->threads = std::move(process.threads);
  state->began = Clock::now();
  state->release_held = release ? std::move(release) : [] {};
  std::ranges::sort(state->threads, {}, &StoppedThread::thread_id);
  return StoppedProcess(std::move(state));
}

StoppedProcess::StoppedProcess(std::unique_ptr<State> state) : state_(std::move(state)) {}
StoppedProcess::StoppedProcess(StoppedProcess&&) noexcept = default;
StoppedProcess& StoppedProcess::operator=(StoppedProcess&& other) noexcept {
  if (this != &other) {
    release();
    state_ = std::move(other.state_);
  }
  return *this;
}
StoppedProcess::~StoppedProcess() { release(); }

void StoppedProcess::release() {
  if (state_) state_->end();
}

pid_t StoppedProcess::process() const { return state_->process; }

wire::Architecture StoppedProcess::architecture() const { return state_->architecture; }

unsigned StoppedProcess::word_bytes() const {
  const arch::ThreadFacts* facts = arch::thread_facts(state_->architecture);
  return facts == nullptr ? sizeof(uintptr_t) : facts->word_bytes;
}

pid_t StoppedProcess::live_thread() const {
  return state_->threads.empty() ? state_->process : static_cast<pid_t>(state_->threads.front().thread_id);
}

const std::vector<StoppedThread>& StoppedProcess::threads() const { return state_->threads; }

uint64_t StoppedProcess::stopped_ns() const {
  const auto end = state_->released ? state_->ended : Clock::now();
  return static_cast<uint64_t>(std::chrono::nanoseconds(end - state_->began).count());
}

}  // namespace heaptap::process
