// Memory of the process that is in RAM, by the kernel's count: the whole process, no matter what is filtered.
#pragma once
#include <cstdint>
#include <optional>

namespace heaptap::report {

struct ResidentKinds {
  uint64_t anonymous_bytes = 0;
  uint64_t file_bytes = 0;
  uint64_t shared_bytes = 0;
};

struct Resident {
  // As last sampled in what is reported.
  uint64_t time_ns = 0;
  uint64_t bytes = 0;
  std::optional<ResidentKinds> kinds = {};
  std::optional<uint64_t> swapped_bytes = {};  // not in `bytes`
  std::optional<uint64_t> log_bytes = {};      // of heaptap's log, in kinds->shared_bytes: an estimate
  uint64_t peak_bytes = 0;
  bool is_peak_exact = false;  // false: of samples alone, so it may have been more

  // Without what is heaptap's, as far as known.
  [[nodiscard]] uint64_t own_bytes() const { return bytes - log_bytes.value_or(0); }
};

// Resident memory while a leak scan had the process stopped, page by page. The parts add up to `bytes`.
struct ResidentParts {
  uint32_t scan = 0;  // its number
  bool at_end = true;
  bool knows_all_blocks = true;  // false: blocks from before the recording, and lost ones, are in `free_bytes`
  uint64_t time_ns = 0;
  uint64_t bytes = 0;
  uint64_t live_bytes = 0;  // of blocks
  uint64_t free_bytes = 0;  // of the allocator's memory, the rest: free, or used by itself
  uint64_t mapped_bytes = 0;
  uint64_t global_bytes = 0;
  uint64_t stack_bytes = 0;
  uint64_t ended_stack_bytes = 0;
  uint64_t file_bytes = 0;
  uint64_t shared_bytes = 0;
  uint64_t heaptap_bytes = 0;
  uint64_t other_bytes = 0;
};

}  // namespace heaptap::report
