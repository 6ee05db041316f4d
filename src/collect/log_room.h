// How much memory the logs of a session may have: one budget for all of its processes, by what the machine and the memory groups
// (cgroups) of both sides have left. What a program could have used isn't taken from it.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>

#include "log/chunk_lender.h"
#include "process/memory_room.h"

namespace heaptap::collect {

struct LogRoom {
  uint64_t free_bytes = UINT64_MAX;  // that machine and groups have left, beside the logs; UINT64_MAX: nobody says
  uint64_t all_logs_bytes = 0;       // of the session
  uint64_t this_log_bytes = 0;       // of these
  uint64_t asked_bytes = 0;          // for the chunks of a log (--log-memory)
};

// Each log has so much, also where there is no room: or nothing would be recorded.
inline constexpr uint64_t kLeastLogBytes = 128u << 10;

// What all logs may have: what is asked for, but an eighth of what there would be without them at most.
uint64_t log_budget(const LogRoom& room);
// How many of these bytes the log may have besides. `for_threads`: of a process with many threads, each of which keeps some for
// itself: a quarter of what is left may go to these.
uint64_t lendable_bytes(const LogRoom& room, uint64_t bytes, bool for_threads);
// How much each of so many logs may have without using it: memory only where the collector is late.
uint64_t log_share(const LogRoom& room, uint64_t logs);
// Whether it is for want of free memory that logs have less than was asked for.
bool is_short(const LogRoom& room);
// How many the log has to give back.
uint64_t overdue_bytes(const LogRoom& room);

// The room of one process's log. All that there are in this process share the budget.
class SharedLogRoom final : public log::ChunkLender {
 public:
  SharedLogRoom(pid_t process, uint64_t asked_bytes);
  ~SharedLogRoom() override;

  uint64_t lend(uint64_t bytes, bool for_threads) override;
  void take_back(uint64_t bytes) override;
  uint64_t share() override;
  uint64_t overdue() override;
  void note_lost(uint64_t events) override;

  // Where events were lost while the log had less than it would have had with more memory free: who has so little. None: no such time is
  // known. `lost`: events, by now.
  [[nodiscard]] std::optional<process::MemoryRoom> shortage(uint64_t lost) const;

 private:
  LogRoom look();

  const pid_t process_;
  const uint64_t asked_bytes_;
  uint64_t held_bytes_ = 0;
  process::MemoryRoom free_;
  bool was_refused_ = false;    // chunks, since losses were told of last
  bool rests_on_less_ = false;  // than logs have where there is memory
  uint64_t lost_ = 0;
  std::optional<process::MemoryRoom> shortage_;
  std::chrono::steady_clock::time_point looked_at_{};
};

}  // namespace heaptap::collect
