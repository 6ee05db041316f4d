// Stack of a stopped thread as read by a walk: in words of its CPU.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>

#include "capture/tracer/stack_copy.h"

namespace heaptap::tracer {

template <typename Word>
class TracedStack {
 public:
  TracedStack(const process::TracedMemory& memory, bool is_big_endian)
      : copy_(memory), is_swapped_(is_big_endian != (std::endian::native == std::endian::big)) {}

  // Starts a walk of `thread`, from `lowest`; it probably needs memory up to `likely_end`.
  void begin(pid_t thread, uint64_t lowest, uint64_t likely_end) {
    lowest_ = lowest;
    copy_.begin(thread, lowest, likely_end);
  }

  // Walks go upwards: addresses below the first frame are refused.
  bool load(uint64_t address, uint64_t& value) {
    if (address < lowest_ || address % sizeof(Word) != 0) return false;
    const uint8_t* bytes = copy_.at(address, sizeof(Word));
    if (bytes == nullptr) return false;
    Word word;
    __builtin_memcpy(&word, bytes, sizeof(word));
    value = is_swapped_ ? swapped(word) : word;
    return true;
  }

  void enter_interrupted(uint64_t sp, uint64_t red_zone) { lowest_ = sp - std::min(red_zone, sp); }

 private:
  static uint64_t swapped(uint64_t word) { return __builtin_bswap64(word); }
  static uint64_t swapped(uint32_t word) { return __builtin_bswap32(word); }

  StackCopy copy_;
  const bool is_swapped_;
  uint64_t lowest_ = 0;
};

}  // namespace heaptap::tracer
