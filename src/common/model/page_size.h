// Page sizes of a recorded machine, as a trace or another machine states them.
#pragma once
#include <bit>
#include <cstdint>

namespace heaptap::model {

// Beyond those of all CPUs that Linux runs on.
constexpr bool is_page_size(uint64_t bytes) {
  constexpr uint64_t kMinBytes = uint64_t{1} << 8;
  constexpr uint64_t kMaxBytes = uint64_t{1} << 30;
  return std::has_single_bit(bytes) && bytes >= kMinBytes && bytes <= kMaxBytes;
}

}  // namespace heaptap::model
