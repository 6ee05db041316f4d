#include "capture/log/log_waker.h"

#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>

#include "capture/log/futex.h"

namespace heaptap::log {

LogWaker::LogWaker() : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for the supervising thread
  thread_ = std::thread([this] { listen(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

LogWaker::~LogWaker() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  wake();
  thread_.join();
}

void LogWaker::silence() {
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = read(descriptor_.get(), &count, sizeof(count));
}

void LogWaker::add(wire::LogHeader& log) {
  {
    const std::lock_guard lock(mutex_);
    logs_.push_back(&log);
  }
  wake();
}

void LogWaker::remove(wire::LogHeader& log) {
  {
    const std::lock_guard lock(mutex_);
    std::erase(logs_, &log);
  }
  wake();
}

void LogWaker::wake() {
  changes_.fetch_add(1, std::memory_order_release);
  futex_wake(changes_);
}

void LogWaker::listen() {
  constexpr auto kNone = static_cast<uint32_t>(wire::ExitTurn::kNone);
  constexpr auto kDone = static_cast<uint32_t>(wire::ExitTurn::kDone);
  for (;;) {
    std::array<futex_waitv, FUTEX_WAITV_MAX> words{};
    unsigned count = 0;
    const auto wait_for = [&](std::atomic<uint32_t>& word, uint32_t value) {
      if (count < words.size()) words[count++] = {value, reinterpret_cast<uintptr_t>(&word), FUTEX_32, 0};
    };
    wait_for(changes_, changes_.load(std::memory_order_acquire));
    {
      const std::lock_guard lock(mutex_);
      if (stops_) return;
      for (wire::LogHeader* log : logs_) {
        const uint32_t turn = log->exit_handshake.turn.load(std::memory_order_acquire);
        if (turn == kNone || turn == kDone) wait_for(log->exit_handshake.turn, turn);
      }
      for (wire::LogHeader* log : logs_) wait_for(log->rings, log->rings.load(std::memory_order_acquire));
    }
    const long woken = syscall(SYS_futex_waitv, words.data(), count, 0, nullptr, CLOCK_MONOTONIC);
    if (woken < 0 && errno != EAGAIN && errno != EINTR && errno != EFAULT) return;  // the kernel has no such call
    if (woken > 0 || (woken < 0 && errno == EAGAIN)) {
      const uint64_t one = 1;
      [[maybe_unused]] const ssize_t put = write(descriptor_.get(), &one, sizeof(one));
    }
  }
}

}  // namespace heaptap::log
