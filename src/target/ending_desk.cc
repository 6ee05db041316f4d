#include "target/ending_desk.h"

#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>

namespace heaptap::target {
namespace {

using wire::EndingTurn;

bool turn_over(wire::Ending& ending, EndingTurn from, EndingTurn to) {
  auto expected = static_cast<uint32_t>(from);
  const bool turned =
      ending.turn.compare_exchange_strong(expected, static_cast<uint32_t>(to), std::memory_order_acq_rel);
  if (turned) syscall(SYS_futex, &ending.turn, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
  return turned;
}

// FUTEX_WAIT on a word that is shared with the target; false: the time is over.
bool wait_while(wire::Ending& ending, EndingTurn turn, int milliseconds) {
  const timespec limit{milliseconds / 1000, (milliseconds % 1000) * 1'000'000L};
  const long result = syscall(SYS_futex, &ending.turn, FUTEX_WAIT, static_cast<uint32_t>(turn), &limit, nullptr, 0);
  return result == 0 || errno != ETIMEDOUT;
}

}  // namespace

std::optional<wire::EndingNotice> take_ending(wire::LogHeader& log) {
  if (!turn_over(log.ending, EndingTurn::kOffered, EndingTurn::kScanning)) return std::nullopt;
  return log.ending.notice;
}

void show_progress(wire::LogHeader& log) { log.ending.progress.fetch_add(1, std::memory_order_relaxed); }

bool ask_access(wire::LogHeader& log, pid_t reader) {
  log.ending.reader.store(reader, std::memory_order_relaxed);
  if (!turn_over(log.ending, EndingTurn::kScanning, EndingTurn::kAsksAccess)) return false;
  constexpr int kLongestWaitMs = 1000;
  const auto asks = static_cast<uint32_t>(EndingTurn::kAsksAccess);
  while (log.ending.turn.load(std::memory_order_acquire) == asks) {
    if (!wait_while(log.ending, EndingTurn::kAsksAccess, kLongestWaitMs)) {
      return !turn_over(log.ending, EndingTurn::kAsksAccess, EndingTurn::kScanning);
    }
  }
  return log.ending.turn.load(std::memory_order_acquire) == static_cast<uint32_t>(EndingTurn::kScanning);
}

bool finish_ending(wire::LogHeader& log) { return turn_over(log.ending, EndingTurn::kScanning, EndingTurn::kDone); }

EndingBell::EndingBell() : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for the thread that watches
  thread_ = std::thread([this] { listen(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

EndingBell::~EndingBell() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  wake();
  thread_.join();
  close(descriptor_);
}

void EndingBell::silence() {
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = read(descriptor_, &count, sizeof(count));
}

void EndingBell::add(wire::LogHeader& log) {
  {
    const std::lock_guard lock(mutex_);
    logs_.push_back(&log);
  }
  wake();
}

void EndingBell::remove(wire::LogHeader& log) {
  {
    const std::lock_guard lock(mutex_);
    std::erase(logs_, &log);
  }
  wake();
}

void EndingBell::wake() {
  changes_.fetch_add(1, std::memory_order_release);
  syscall(SYS_futex, &changes_, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}

void EndingBell::listen() {
  constexpr auto kNone = static_cast<uint32_t>(EndingTurn::kNone);
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
        if (log->ending.turn.load(std::memory_order_acquire) == kNone) wait_for(log->ending.turn, kNone);
      }
    }
    const long woken = syscall(SYS_futex_waitv, words.data(), count, 0, nullptr, CLOCK_MONOTONIC);
    if (woken < 0 && errno != EAGAIN && errno != EINTR && errno != EFAULT) return;  // the kernel has no such call
    if (woken > 0 || (woken < 0 && errno == EAGAIN)) {
      const uint64_t one = 1;
      [[maybe_unused]] const ssize_t put = write(descriptor_, &one, sizeof(one));
    }
  }
}

}  // namespace heaptap::target
