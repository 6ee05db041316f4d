#include "common/base/bounded_calls.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "common/base/signals_blocked.h"

namespace heaptap::base {

// State shared by both threads. It lives as long as either.
struct BoundedCalls::Worker {
  std::mutex mutex;
  std::condition_variable changed;
  std::function<bool()> call;  // empty: no call pending
  bool is_done = false;
  bool result = false;
  bool ends = false;
  std::shared_ptr<std::atomic<unsigned>> given_up;  // counts it, where it was

  void run() {
    prctl(PR_SET_NAME, kThreadName);
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [this] { return ends || call; });
      if (ends) break;
      std::function<bool()> wanted = std::exchange(call, nullptr);
      lock.unlock();
      const bool returned = wanted();
      wanted = nullptr;
      lock.lock();
      result = returned;
      is_done = true;
      changed.notify_all();
    }
    if (given_up) given_up->fetch_sub(1, std::memory_order_relaxed);
  }
};

BoundedCalls::~BoundedCalls() { give_up(); }

// In a forked child: the thread isn't there, its mutex may have been locked, and nothing waits in the kernel.
void BoundedCalls::leave_to_parent() {
  if (worker_ == nullptr || process_ == getpid()) return;
  worker_ = nullptr;
  given_up_ = std::make_shared<std::atomic<unsigned>>(0);
}

// The thread exits once its call returns.
void BoundedCalls::give_up() {
  leave_to_parent();
  if (worker_ == nullptr) return;
  const std::scoped_lock lock(worker_->mutex);
  worker_->ends = true;
  worker_->changed.notify_all();
}

BoundedCalls::Outcome BoundedCalls::run(std::function<bool()> call, const std::function<void()>& late) {
  leave_to_parent();
  if (given_up_->load(std::memory_order_relaxed) >= kMaxGivenUp) return Outcome::kGivenUp;
  if (worker_ == nullptr) {
    auto worker = std::make_shared<Worker>();
    try {
      const SignalsBlocked blocked;
      std::thread([worker] { worker->run(); }).detach();
    } catch (const std::system_error&) {
      return Outcome::kGivenUp;  // no more threads: nor is it known that nobody waits
    }
    worker_ = std::move(worker);
    process_ = getpid();
  }
  std::unique_lock lock(worker_->mutex);
  worker_->call = std::move(call);
  worker_->is_done = false;
  worker_->changed.notify_all();
  const auto until = std::chrono::steady_clock::now() + longest_;
  const auto is_done = [this] { return worker_->is_done; };
  if (late && !worker_->changed.wait_for(lock, std::min(kLate, longest_), is_done)) {
    lock.unlock();
    late();
    lock.lock();
  }
  if (worker_->changed.wait_until(lock, until, is_done)) {
    return worker_->result ? Outcome::kTrue : Outcome::kFalse;
  }
  given_up_->fetch_add(1, std::memory_order_relaxed);
  worker_->given_up = given_up_;
  lock.unlock();
  give_up();
  worker_ = nullptr;
  return Outcome::kGivenUp;
}

}  // namespace heaptap::base
