// Description of mapped memory in an event: its length, source and access in one word. Freestanding.
//
//  63 61 60  59 58  56 55                                      0
// ┌─────┬──────┬──────┬───────────────────────────────────────┐
// │ 0   │access│source│ length in bytes                       │
// └─────┴──────┴──────┴───────────────────────────────────────┘
#pragma once
#include <stdint.h>

namespace heaptap::wire {

// Source of its pages.
enum class MappedSource : uint8_t {
  kUnknown = 0,  // not seen by the recorder, or in old traces
  kPrivate = 1,  // anonymous, private
  kShared = 2,   // anonymous, shared with children
  kStack = 3,    // anonymous, for a thread's stack
  kFile = 4,     // from a descriptor: a file, a device, a memfd
  kMoved = 5,    // moved here from what its thread unmapped right before
};
inline constexpr uint8_t kLastMappedSource = 5;

// Access of the program. Code counts as readable.
enum class MappedAccess : uint8_t { kUnknown = 0, kNone = 1, kRead = 2, kWrite = 3 };

struct MappedMemory {
  MappedSource source = MappedSource::kUnknown;
  MappedAccess access = MappedAccess::kUnknown;
  bool operator==(const MappedMemory&) const = default;
};

// As one number, also used in traces.
constexpr uint8_t number_of(MappedMemory memory) {
  return static_cast<uint8_t>(static_cast<uint8_t>(memory.source) | static_cast<uint8_t>(memory.access) << 3);
}
// From a number of a trace; unknown values give kUnknown.
constexpr MappedMemory mapped_memory(uint8_t number) {
  const uint8_t source = number & 7;
  return {source <= kLastMappedSource ? static_cast<MappedSource>(source) : MappedSource::kUnknown,
          static_cast<MappedAccess>(number >> 3 & 3)};
}

inline constexpr unsigned kMappedLengthBits = 56;
inline constexpr uint64_t kMaxMappedLength = (uint64_t{1} << kMappedLengthBits) - 1;
constexpr uint64_t make_mapped(uint64_t length_bytes, MappedMemory memory) {
  return uint64_t{number_of(memory)} << kMappedLengthBits |
         (length_bytes < kMaxMappedLength ? length_bytes : kMaxMappedLength);
}
constexpr uint64_t mapped_length(uint64_t mapped) { return mapped & kMaxMappedLength; }
constexpr MappedMemory memory_of(uint64_t mapped) {
  return mapped_memory(static_cast<uint8_t>(mapped >> kMappedLengthBits));
}

}  // namespace heaptap::wire
