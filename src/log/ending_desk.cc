#include "log/ending_desk.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

namespace heaptap::log {
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

}  // namespace heaptap::log
