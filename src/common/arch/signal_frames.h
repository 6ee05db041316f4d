// Signal frames: recognition, and the offsets of the interrupted registers. Freestanding.
#pragma once
#include <stdint.h>

namespace heaptap::arch {

// Return code of a signal handler, and offsets of the interrupted registers from SP before its first instruction.
struct SignalTrampoline {
  static constexpr uint32_t kMaxBytes = 16;
  uint8_t code[kMaxBytes];
  uint32_t code_bytes;
  uint64_t frame_pointer;
  uint64_t stack_pointer;
  uint64_t program_counter;
  uint64_t link_register = 0;  // where the CPU has one

  // `bytes` of code, kMaxBytes of them.
  [[nodiscard]] constexpr bool is(const uint8_t* bytes) const {
    for (uint32_t i = 0; i < code_bytes; ++i) {
      if (bytes[i] != code[i]) return false;
    }
    return true;
  }
};

// Facts for stack walks of a CPU's threads, signal frames included.
template <typename Unwinding, const auto& trampolines>
struct Traced : Unwinding {
  using Rules = Unwinding;
  static constexpr const auto& kTrampolines = trampolines;
};

}  // namespace heaptap::arch
