// Leak scan where exit begins, before destructors and exit handlers: it says who held what the scan at the end finds lost, and no
// more, so it is left out where it would cost the program much.
#pragma once
#include <cstdint>
#include <optional>

#include "common/model/heap_scan.h"
#include "common/model/resident.h"
#include "common/wire/exit_handshake.h"

namespace heaptap::supervision {

inline bool is_exit_start(const std::optional<wire::ExitNotice>& notice) {
  return notice && notice->kind == wire::ExitKind::kExitBegins;
}

// Of a scan where `ending` is why the process waits; none: it was asked for.
inline model::ScanReason reason_of(const std::optional<wire::ExitNotice>& ending) {
  if (!ending) return model::ScanReason::kAsked;
  return is_exit_start(ending) ? model::ScanReason::kExitBegins : model::ScanReason::kEnd;
}

struct ExitStartCost {
  std::optional<model::ResidentSample> resident;  // none: unknown
  uint64_t blocks = 0;                            // live; 0: not known yet
  uint64_t last_pause_ns = 0;                     // of the last scan; 0: none
};

// About 50 ms for reading, and no longer for the blocks: the program waits for that too, if it ends soon after.
inline constexpr uint64_t kMaxBytesAtExitStart = uint64_t{256} << 20;
inline constexpr uint64_t kMaxBlocksAtExitStart = 500'000;
inline constexpr uint64_t kMaxPauseBeforeExitStartNs = 100'000'000;

inline bool is_worth_a_scan(const ExitStartCost& cost) {
  if (!cost.resident) return false;
  const model::ResidentSample& resident = *cost.resident;
  const uint64_t bytes = resident.anonymous_bytes + resident.shared_bytes - resident.log_bytes.value_or(0);
  return bytes <= kMaxBytesAtExitStart && cost.blocks <= kMaxBlocksAtExitStart &&
         cost.last_pause_ns <= kMaxPauseBeforeExitStartNs;
}

}  // namespace heaptap::supervision
