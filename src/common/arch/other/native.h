// Host facts of a CPU without a directory of its own: it can read traces, but not record.
#pragma once
#include <stdint.h>

#include <array>

#include "common/arch/without_vectors.h"
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

inline constexpr long kMapCall = 0;  // nothing is mapped by a call of the agent's

using without_filter::word_filter;
using without_vectors::each_vector_word;
using without_vectors::kVectorImageBytes;
using without_vectors::kVectorRegisterSet;
using without_vectors::VectorWord;

}  // namespace heaptap::arch::other
