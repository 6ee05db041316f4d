// CPU contract of the collector, the tracer and the readers, for the CPU that they run on. To be included by common/arch/native.h only.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <concepts>
#include <type_traits>

#include "common/wire/architecture.h"

namespace heaptap::arch {

// Architecture of this CPU; kUnknown: programs can't be recorded on it.
static_assert(std::same_as<decltype(native::kArchitecture), const wire::Architecture>);

// Architectures of programs that run on this CPU and can be traced by ptrace.
static_assert(std::same_as<std::remove_cvref_t<decltype(native::kTraced[0])>, wire::Architecture>);

// File name of glibc's loader, which programs of this CPU name as theirs; empty: none that takes an agent.
static_assert(std::convertible_to<decltype(native::kGlibcLoader), const char*>);

// Whether glibc's control block of a thread ends at its thread pointer, and thread-local variables begin there (variant 1 of
// thread-local storage).
static_assert(std::same_as<decltype(native::kControlBlockIsBelow), const bool>);

// Clock that is the same on all processors and nearly free to read, as the agent reads it; without one, events are
// counted (capture/log/log_clock.h). The kernel's name of it, as in /sys/devices/system/clocksource; null: this CPU has none.
static_assert(std::same_as<decltype(native::kKernelClock), const char* const>);
static_assert(requires {
  { native::read_clock() } -> std::same_as<uint64_t>;
  { native::clock_is_invariant() } -> std::same_as<bool>;
});

// Spin-wait hint.
static_assert(requires { native::relax(); });

// Vector registers, as given by PTRACE_GETREGSET for this set: the positions of words in an image, for the target's
// word size. 0: no set.
static_assert(std::same_as<decltype(native::kVectorRegisterSet), const unsigned> && native::kVectorImageBytes > 0);
static_assert(requires(const uint8_t* image, size_t bytes, void (*use)(const native::VectorWord&)) {
  native::each_vector_word<uint32_t>(image, bytes, use);
  native::each_vector_word<uint64_t>(image, bytes, use);
});
static_assert(requires(native::VectorWord word) {
  { word.value } -> std::convertible_to<uint64_t>;
  { word.index } -> std::convertible_to<unsigned>;
});

// Vectorized inner loop of a leak scan (see capture/scan/word_filter.h). Null: not supported by the current processor; the scan
// uses its scalar loop.
static_assert(requires {
  {
    native::word_filter<uint32_t>()
  } -> std::same_as<size_t (*)(const uint32_t*, uint32_t, uint64_t, uint64_t, uint32_t*)>;
  {
    native::word_filter<uint64_t>()
  } -> std::same_as<size_t (*)(const uint64_t*, uint32_t, uint64_t, uint64_t, uint32_t*)>;
});

}  // namespace heaptap::arch
