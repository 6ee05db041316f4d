// Sample of a process's memory that is in RAM, as counted by the kernel (/proc/PID/status, proc(5)).
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>

namespace heaptap::model {

// Amounts are whole KiB, in bytes, and below kMaxResidentBytes.
struct ResidentSample {
  uint64_t time_ns = 0;  // since the start of the capture
  uint64_t anonymous_bytes = 0;
  uint64_t file_bytes = 0;
  uint64_t shared_bytes = 0;  // shared memory, which includes the log of an agent
  // None: unknown.
  std::optional<uint64_t> swapped_bytes = {};
  std::optional<uint64_t> peak_bytes = {};  // most of the sum below, since the process executed its program
  std::optional<uint64_t> log_bytes = {};   // of an agent's log, in `shared_bytes`: an estimate
  bool has_kinds = true;  // false: all is in `anonymous_bytes`, whatever it is (in other tools' files; never in traces)
  bool operator==(const ResidentSample&) const = default;

  [[nodiscard]] uint64_t resident_bytes() const { return anonymous_bytes + file_bytes + shared_bytes; }
};

inline constexpr uint64_t kMaxResidentBytes = uint64_t{1} << 60;
inline constexpr size_t kMaxResidentSamples = size_t{1} << 20;  // of a trace

}  // namespace heaptap::model
