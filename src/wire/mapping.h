// What an event of a mapping says of the memory beside its length; both are in one word. Freestanding.
//
//  63 61 60  59 58  56 55                                      0
// ┌─────┬──────┬──────┬───────────────────────────────────────┐
// │ 0   │access│source│ length in bytes                       │
// └─────┴──────┴──────┴───────────────────────────────────────┘
#pragma once
#include <stdint.h>

namespace heaptap::wire {

// Where its pages come from.
enum class MappedSource : uint8_t {
  kUnknown = 0,  // by who recorded it, or when
  kPrivate = 1,  // of no file, for the process alone
  kShared = 2,   // of no file, to be shared with children
  kStack = 3,    // of no file, for a thread's stack
  kFile = 4,     // of a descriptor: a file, a device, a memfd
  kMoved = 5,    // as what its thread unmapped right before, which has moved here
};
inline constexpr uint8_t kLastMappedSource = 5;

// What the program may do there. Code may be read.
enum class MappedAccess : uint8_t { kUnknown = 0, kNone = 1, kRead = 2, kWrite = 3 };

struct MappedMemory {
  MappedSource source = MappedSource::kUnknown;
  MappedAccess access = MappedAccess::kUnknown;
  bool operator==(const MappedMemory&) const = default;
};

// As one number, which a trace has as well.
constexpr uint8_t number_of(MappedMemory memory) {
  return static_cast<uint8_t>(static_cast<uint8_t>(memory.source) | static_cast<uint8_t>(memory.access) << 3);
}
// Of a number from outside; what isn't known is unknown.
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
