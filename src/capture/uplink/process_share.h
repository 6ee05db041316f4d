// Share of one process in this side's memory and address space: a session of hundreds must not need hundreds of times
// the memory of one. The first few get the full amount.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "capture/stream/event_guesses.h"

namespace heaptap::uplink {

inline constexpr size_t kFewProcesses = 8;

// For a stream beside this many others (RawStreamOptions::table_bits): half the memory with each doubling of their number.
constexpr unsigned table_bits_beside(size_t others) {
  const auto less = static_cast<unsigned>(std::bit_width(others / kFewProcesses));
  constexpr unsigned kUsual = stream::EventGuesses::kUsualTableBits;
  return kUsual - std::min(less, kUsual - stream::EventGuesses::kLeastTableBits);
}

// Maximum size of a log (log::LogOptions::max_chunk_memory_bytes): its address space is reserved at once.
constexpr uint64_t max_log_bytes_beside(size_t others, uint64_t usual_bytes, uint64_t max_bytes) {
  return std::max(std::min(usual_bytes, max_bytes), max_bytes / std::max<size_t>(1, others / kFewProcesses * 2));
}

}  // namespace heaptap::uplink
