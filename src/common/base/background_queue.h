// Queue of things that a thread of its own does, one after the other, beside work that must not wait for them.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <limits>
#include <mutex>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>

#include "common/base/signals_blocked.h"

namespace heaptap::base {

// Used by one thread, beside its own.
template <typename Item>
class BackgroundQueue {
 public:
  // work(item, stop): ends soon where a stop is requested; when_idle(): whenever none waits any more. Neither throws.
  using Work = std::function<void(const Item& item, const std::stop_token& stop)>;
  explicit BackgroundQueue(Work work, std::function<void()> when_idle = {})
      : work_(std::move(work)), when_idle_(std::move(when_idle)) {}
  // Ends what is under way; what waits is not done.
  ~BackgroundQueue() = default;
  BackgroundQueue(const BackgroundQueue&) = delete;
  BackgroundQueue& operator=(const BackgroundQueue&) = delete;

  // Doesn't wait. False: there are `max_items` already, or no thread, which the user's limit may refuse.
  bool add(Item item, size_t max_items = std::numeric_limits<size_t>::max()) {
    if (!has_thread()) return false;
    const std::scoped_lock lock(mutex_);
    if (items_.size() >= max_items) return false;
    items_.push_back(std::move(item));
    news_.notify_all();
    return true;
  }

  // Forgets all but the one under way.
  void drop_waiting() {
    const std::scoped_lock lock(mutex_);
    if (items_.size() > 1) items_.erase(items_.begin() + 1, items_.end());
  }

  // Until all is done, as long as goes_on() agrees, which is called now and then. False: it didn't.
  template <typename GoesOn>
  bool wait(const GoesOn& goes_on) {
    constexpr std::chrono::milliseconds kLook{100};
    std::unique_lock lock(mutex_);
    while (!news_.wait_for(lock, kLook, [this] { return items_.empty(); })) {
      lock.unlock();
      if (!goes_on()) return false;
      lock.lock();
    }
    return true;
  }

  // Ends the thread, and what is under way.
  void end() {
    if (!thread_.joinable()) return;
    thread_.request_stop();
    thread_.join();
  }

 private:
  bool has_thread() {
    if (thread_.joinable()) return true;
    const SignalsBlocked signals;
    try {
      thread_ = std::jthread([this](const std::stop_token& stop) { work_on(stop); });
    } catch (const std::system_error&) {
      return false;
    }
    return true;
  }

  void work_on(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (news_.wait(lock, stop, [this] { return !items_.empty(); })) {
      const Item& first = items_.front();
      lock.unlock();
      work_(first, stop);
      lock.lock();
      items_.pop_front();
      news_.notify_all();
      if (items_.empty() && when_idle_) when_idle_();
    }
  }

  const Work work_;
  const std::function<void()> when_idle_;
  std::mutex mutex_;
  std::condition_variable_any news_;
  std::deque<Item> items_;  // the first one is under way
  std::jthread thread_;     // declared last: ends before the rest
};

}  // namespace heaptap::base
