// Memory budget of a session's logs: shared by all its processes, limited by the free memory of the machine and of both
// sides' control groups, so that nothing is taken from the program.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>

#include "capture/log/chunk_lender.h"
#include "capture/process/memory_room.h"

namespace heaptap::stream {

struct LogRoom {
  uint64_t free_bytes = UINT64_MAX;  // free in machine and groups, excluding the logs; UINT64_MAX: unknown
  uint64_t all_logs_bytes = 0;       // of the session's logs
  uint64_t this_log_bytes = 0;       // of the log in question
  uint64_t asked_bytes = 0;          // requested for a log's chunks (--log-memory)
};

// Minimum of each log, even without room: otherwise nothing would be recorded.
inline constexpr uint64_t kLeastLogBytes = 128u << 10;

// Budget of all logs: the requested amount, limited to an eighth of the memory that would be free without them.
uint64_t log_budget(const LogRoom& room);
// How many of these bytes the log may have in addition. `for_threads`: for a process with many threads, each with a reserve:
// these may take a quarter of the free memory.
uint64_t lendable_bytes(const LogRoom& room, uint64_t bytes, bool for_threads);
// Reserve of each of so many logs: it takes memory only when the collector is late.
uint64_t log_share(const LogRoom& room, uint64_t logs);
// Whether logs have less than requested for lack of free memory.
bool is_short(const LogRoom& room);
// Whether call stacks may take so many bytes more, for good.
bool may_keep(const LogRoom& room, uint64_t bytes);
// Number of bytes to be given back by the log.
uint64_t overdue_bytes(const LogRoom& room);

// Room of one process's log. All instances in this process share the budget.
class SharedLogRoom final : public log::ChunkLender {
 public:
  SharedLogRoom(pid_t process, uint64_t asked_bytes);
  ~SharedLogRoom() override;

  uint64_t lend(uint64_t bytes, bool for_threads) override;
  void take_back(uint64_t bytes) override;
  uint64_t share() override;
  uint64_t overdue() override;
  void note_lost(uint64_t events) override;
  bool permits(uint64_t bytes) override;

  // The machine or group short of memory, if events were lost while the log had less than it would get with more free memory.
  // None: no such loss is known. `lost`: events so far.
  [[nodiscard]] std::optional<process::MemoryRoom> shortage(uint64_t lost) const;

 private:
  LogRoom look();

  const pid_t process_;
  const uint64_t asked_bytes_;
  uint64_t held_bytes_ = 0;
  process::MemoryRoom free_;
  bool was_refused_ = false;    // chunks, since the last report of losses
  bool rests_on_less_ = false;  // less than logs get where there is memory
  uint64_t lost_ = 0;
  std::optional<process::MemoryRoom> shortage_;
  std::chrono::steady_clock::time_point looked_at_{};
};

}  // namespace heaptap::stream
