#include "capture/log/exit_responder.h"

#include <unistd.h>

#include <cerrno>

#include "capture/log/futex.h"

namespace heaptap::log {
namespace {

using wire::ExitTurn;

bool turn_over(wire::ExitHandshake& handshake, ExitTurn from, ExitTurn to) {
  auto expected = static_cast<uint32_t>(from);
  const bool turned =
      handshake.turn.compare_exchange_strong(expected, static_cast<uint32_t>(to), std::memory_order_acq_rel);
  if (turned) futex_wake(handshake.turn);
  return turned;
}

// False: the time limit has passed.
bool wait_while(wire::ExitHandshake& handshake, ExitTurn turn, uint32_t milliseconds) {
  return futex_wait(handshake.turn, static_cast<uint32_t>(turn), milliseconds) == 0 || errno != ETIMEDOUT;
}

}  // namespace

std::optional<wire::ExitNotice> offered_exit(const wire::LogHeader& log) {
  const auto turn = static_cast<ExitTurn>(log.exit_handshake.turn.load(std::memory_order_acquire));
  return turn == ExitTurn::kOffered ? std::optional(log.exit_handshake.notice) : std::nullopt;
}

std::optional<wire::ExitNotice> take_exit_notice(wire::LogHeader& log) {
  if (!turn_over(log.exit_handshake, ExitTurn::kOffered, ExitTurn::kScanning)) return std::nullopt;
  return log.exit_handshake.notice;
}

void show_progress(wire::LogHeader& log) { log.exit_handshake.progress.fetch_add(1, std::memory_order_relaxed); }

bool ask_access(wire::LogHeader& log, pid_t reader) {
  log.exit_handshake.reader.store(reader, std::memory_order_relaxed);
  if (!turn_over(log.exit_handshake, ExitTurn::kScanning, ExitTurn::kAsksAccess)) return false;
  constexpr uint32_t kLongestWaitMs = 1000;
  const auto asks = static_cast<uint32_t>(ExitTurn::kAsksAccess);
  while (log.exit_handshake.turn.load(std::memory_order_acquire) == asks) {
    if (!wait_while(log.exit_handshake, ExitTurn::kAsksAccess, kLongestWaitMs)) {
      return !turn_over(log.exit_handshake, ExitTurn::kAsksAccess, ExitTurn::kScanning);
    }
  }
  return log.exit_handshake.turn.load(std::memory_order_acquire) == static_cast<uint32_t>(ExitTurn::kScanning);
}

void decline_exit(wire::LogHeader& log) { turn_over(log.exit_handshake, ExitTurn::kScanning, ExitTurn::kNone); }

bool waits_at_exit(const wire::LogHeader& log) {
  return log.exit_handshake.turn.load(std::memory_order_acquire) == static_cast<uint32_t>(ExitTurn::kScanning);
}

bool finish_exit(wire::LogHeader& log) { return turn_over(log.exit_handshake, ExitTurn::kScanning, ExitTurn::kDone); }

}  // namespace heaptap::log
