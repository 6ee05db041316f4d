// Pages of this machine's memory, and so of each process recorded on it.
#pragma once
#include <unistd.h>

#include <cstdint>

#include "common/base/address_range.h"

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

// Pages of this size of which nothing lies outside of the range: what may be given to a call that empties pages, since the kernel takes
// the rest of the last one for a part of the range.
inline AddressRange pages_within(AddressRange range, uint64_t page_bytes) {
  const uint64_t begin = (range.begin + page_bytes - 1) & ~(page_bytes - 1);
  const uint64_t end = range.end & ~(page_bytes - 1);
  return begin < end ? AddressRange{begin, end} : AddressRange{begin, begin};
}

}  // namespace heaptap::base
