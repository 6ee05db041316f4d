// Host facts of a CPU without a directory of its own: it can read traces, but not record.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <array>

#include "common/wire/architecture.h"

namespace heaptap::arch::other {

inline constexpr wire::Architecture kArchitecture = wire::Architecture::kUnknown;

inline constexpr std::array<wire::Architecture, 0> kTraced{};

inline constexpr const char kGlibcLoader[] = "";

inline constexpr bool kControlBlockIsBelow = false;

inline constexpr const char* kKernelClock = nullptr;
inline uint64_t read_clock() { return 0; }
inline bool clock_is_invariant() { return false; }

inline void relax() {}

inline constexpr unsigned kVectorRegisterSet = 0;
inline constexpr size_t kVectorImageBytes = 1;

struct VectorWord {
  uint64_t value;
  unsigned index;  // of the register
};

template <typename Word, typename Use>
void each_vector_word(const uint8_t* /*image*/, size_t /*bytes*/, Use /*use*/) {}

template <typename Word>
auto word_filter() -> size_t (*)(const Word*, uint32_t, uint64_t, uint64_t, uint32_t*) {
  return nullptr;
}

}  // namespace heaptap::arch::other
