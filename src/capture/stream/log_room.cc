#include "capture/stream/log_room.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <utility>

namespace heaptap::stream {
namespace {

constinit std::atomic<uint64_t> g_all_logs_bytes{0};
constinit std::atomic<uint64_t> g_logs{0};

}  // namespace

uint64_t log_budget(const LogRoom& room) {
  constexpr uint64_t kShare = 8;
  const uint64_t without_logs =
      room.free_bytes > UINT64_MAX - room.all_logs_bytes ? UINT64_MAX : room.free_bytes + room.all_logs_bytes;
  return std::min(room.asked_bytes, without_logs / kShare);
}

uint64_t lendable_bytes(const LogRoom& room, uint64_t bytes, bool for_threads) {
  constexpr uint64_t kShareOfThreads = 4;
  const uint64_t budget = log_budget(room);
  uint64_t most = budget - std::min(budget, room.all_logs_bytes);
  most = std::max(most, kLeastLogBytes - std::min(kLeastLogBytes, room.this_log_bytes));
  if (for_threads) most = std::max(most, room.free_bytes / kShareOfThreads);
  return std::min(bytes, most);
}

uint64_t log_share(const LogRoom& room, uint64_t logs) {
  constexpr uint64_t kLeast = 512u << 10;
  constexpr uint64_t kEnough = 8u << 20;
  return std::clamp(log_budget(room) / (2 * std::max<uint64_t>(logs, 1)), kLeast, kEnough);
}

uint64_t overdue_bytes(const LogRoom& room) {
  const uint64_t budget = log_budget(room);
  if (room.all_logs_bytes <= budget || room.this_log_bytes <= kLeastLogBytes) return 0;
  // Each log gets its part.
  const double part = static_cast<double>(room.this_log_bytes) / static_cast<double>(room.all_logs_bytes);
  const auto over = static_cast<uint64_t>(static_cast<double>(room.all_logs_bytes - budget) * part);
  return std::min(over, room.this_log_bytes - kLeastLogBytes);
}

bool may_keep(const LogRoom& room, uint64_t bytes) {
  constexpr uint64_t kShare = 8;
  return bytes <= room.free_bytes / kShare;
}

bool is_short(const LogRoom& room) { return log_budget(room) < room.asked_bytes; }

SharedLogRoom::SharedLogRoom(pid_t process, uint64_t asked_bytes) : process_(process), asked_bytes_(asked_bytes) {
  g_logs.fetch_add(1, std::memory_order_relaxed);
}

SharedLogRoom::~SharedLogRoom() {
  take_back(held_bytes_);
  g_logs.fetch_sub(1, std::memory_order_relaxed);
}

uint64_t SharedLogRoom::share() {
  const LogRoom room = look();
  const uint64_t logs = g_logs.load(std::memory_order_relaxed);
  LogRoom with_memory = room;
  with_memory.free_bytes = UINT64_MAX;
  const uint64_t share = log_share(room, logs);
  rests_on_less_ = share < log_share(with_memory, logs);
  return share;
}

LogRoom SharedLogRoom::look() {
  constexpr std::chrono::milliseconds kKnown{20};
  const auto now = std::chrono::steady_clock::now();
  if (now - looked_at_ > kKnown) {
    looked_at_ = now;
    free_ = process::free_memory_for(process_);
    process::MemoryRoom own = process::free_memory_for(getpid());
    if (own.free_bytes < free_.free_bytes) free_ = std::move(own);
  }
  return {.free_bytes = free_.free_bytes,
          .all_logs_bytes = g_all_logs_bytes.load(std::memory_order_relaxed),
          .this_log_bytes = held_bytes_,
          .asked_bytes = asked_bytes_};
}

uint64_t SharedLogRoom::lend(uint64_t bytes, bool for_threads) {
  const LogRoom room = look();
  const uint64_t lent = lendable_bytes(room, bytes, for_threads);
  was_refused_ = was_refused_ || (lent < bytes && is_short(room));
  held_bytes_ += lent;
  g_all_logs_bytes.fetch_add(lent, std::memory_order_relaxed);
  return lent;
}

void SharedLogRoom::take_back(uint64_t bytes) {
  held_bytes_ -= bytes;
  g_all_logs_bytes.fetch_sub(bytes, std::memory_order_relaxed);
}

uint64_t SharedLogRoom::overdue() { return overdue_bytes(look()); }

bool SharedLogRoom::permits(uint64_t bytes) { return may_keep(look(), bytes); }

void SharedLogRoom::note_lost(uint64_t events) {
  shortage_ = shortage(events);
  lost_ = events;
  was_refused_ = false;
}

std::optional<process::MemoryRoom> SharedLogRoom::shortage(uint64_t lost) const {
  return lost > lost_ && (was_refused_ || rests_on_less_) ? free_ : shortage_;
}

}  // namespace heaptap::stream
