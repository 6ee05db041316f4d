// Owner of one log's shared memory: allocates it, lays it out, and holds its descriptor.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "capture/log/log_parts.h"
#include "common/base/result.h"
#include "common/base/unique_fd.h"
#include "common/wire/log.h"

namespace heaptap::log {

// Name of the memory, visible in memory maps.
inline constexpr char kLogName[] = "heaptap-log";

inline constexpr uint64_t kLeastTotalsBytes = 1u << 20;

struct LogOptions {
  uint64_t chunk_memory_bytes = 32u << 20;  // --log-memory; allocated as needed
  uint64_t max_chunk_memory_bytes = 0;      // maximum it may grow to, and its nodes (at least 32 MiB); 0: fixed
  uint64_t max_bytes = UINT64_MAX;          // maximum address space in the target, tables included
  uint64_t totals_bytes = 0;                // whole memory for totals; 0: events, no totals
  uint64_t late_rows_bytes = 0;             // for late unwind rows; 0: none
  uint32_t depth_limit = 0;                 // 0: none
  uint64_t sample_interval = 0;             // bytes, see common/wire/sampling.h; 0: all blocks are recorded
  wire::OverflowPolicy overflow_policy = wire::OverflowPolicy::kWait;
  uint32_t flags = 0;           // wire::SessionFlag
  uint32_t report_signal = 0;   // see wire::LogHeader; 0: none
  std::string omitted_objects;  // one a line
};

class LogMemory {
 public:
  static base::Result<std::unique_ptr<LogMemory>> create(const LogOptions& options);
  ~LogMemory();
  LogMemory(const LogMemory&) = delete;
  LogMemory& operator=(const LogMemory&) = delete;

  [[nodiscard]] wire::LogHeader& header() const { return *header_; }
  [[nodiscard]] const LogParts& parts() const { return parts_; }
  [[nodiscard]] size_t bytes() const { return bytes_; }
  // Whether the chunks' pages are sparse; see ChunkMemory.
  [[nodiscard]] bool is_sparse() const { return is_sparse_; }
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }
  // Descriptor for a process that is to map it, and to close it then. What maps it by this one is known later.
  [[nodiscard]] base::UniqueFd descriptor_for_mapping();
  // Whether it is mapped by such a descriptor: in that process, or in children forked with it that haven't executed a
  // program since. False: nowhere, or not known (no memfd, no /proc).
  [[nodiscard]] bool is_mapped_elsewhere() const;
  // Call once the agent has received it: a file could be truncated by other processes through it. Memory can't, and is
  // measured by it.
  void close_descriptor() {
    if (!is_sparse_) descriptor_.reset();
  }
  // Of its memory, what has pages by now. None: unknown.
  [[nodiscard]] std::optional<uint64_t> allocated_bytes() const;

 private:
  LogMemory(base::UniqueFd descriptor, wire::LogHeader* header, size_t bytes, bool is_sparse)
      : descriptor_(std::move(descriptor)), header_(header), bytes_(bytes), is_sparse_(is_sparse), parts_(*header) {}

  base::UniqueFd descriptor_;
  wire::LogHeader* header_;
  size_t bytes_;
  bool is_sparse_;
  bool knows_mappings_ = false;
  const LogParts parts_;
};

}  // namespace heaptap::log
