// Pages of this machine's memory, and so of each process recorded on it.
#pragma once
#include <unistd.h>

#include <cstdint>

namespace heaptap::base {

// A power of two: 4 KiB on x86, up to 64 KiB on other CPUs.
inline uint64_t page_bytes() {
  static const auto bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

inline uint64_t page_begin(uint64_t address) { return address & ~(page_bytes() - 1); }

inline bool is_page_aligned(uint64_t address) { return page_begin(address) == address; }

// Rounds up a size, or the end of a range.
inline uint64_t whole_pages(uint64_t bytes) { return page_begin(bytes + page_bytes() - 1); }

}  // namespace heaptap::base
