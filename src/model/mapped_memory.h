// What the bytes of mappings are, each of them one of these kinds at a time: they add up to what is mapped.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "wire/mapping.h"

namespace heaptap::model {

enum class MappedKind : uint8_t {
  kReserved,  // nothing may be done there: addresses, and no memory
  kPrivate,   // of no file,
  kShared,    // shared with children,
  kStack,     // or for a thread's stack
  kFile,      // of a file, a device, a memfd
  kUnknown,   // an older recorder didn't say, or it was moved here from what was mapped unseen
};
inline constexpr size_t kMappedKinds = 6;
inline constexpr std::array<const char*, kMappedKinds> kMappedKindNames = {"reserved", "private", "shared",
                                                                           "stack",    "file",    "unknown"};

using MappedBytes = std::array<uint64_t, kMappedKinds>;

constexpr MappedKind kind_of(wire::MappedMemory memory) {
  if (memory.access == wire::MappedAccess::kNone) return MappedKind::kReserved;
  if (memory.access == wire::MappedAccess::kUnknown) return MappedKind::kUnknown;
  switch (memory.source) {
    case wire::MappedSource::kPrivate:
      return MappedKind::kPrivate;
    case wire::MappedSource::kShared:
      return MappedKind::kShared;
    case wire::MappedSource::kStack:
      return MappedKind::kStack;
    case wire::MappedSource::kFile:
      return MappedKind::kFile;
    case wire::MappedSource::kUnknown:
    case wire::MappedSource::kMoved:
      break;
  }
  return MappedKind::kUnknown;
}

constexpr bool is_memory(MappedKind kind) {
  return kind == MappedKind::kPrivate || kind == MappedKind::kShared || kind == MappedKind::kStack;
}

struct MappedLevel {
  uint64_t live_bytes = 0;
  uint64_t peak_bytes = 0;

  void add(uint64_t bytes) { peak_bytes = std::max(peak_bytes, live_bytes += bytes); }
  void remove(uint64_t bytes) { live_bytes -= bytes; }
  // Of several processes: whose peaks were together isn't known.
  MappedLevel& operator+=(const MappedLevel& other) {
    live_bytes += other.live_bytes;
    peak_bytes = std::max(peak_bytes, other.peak_bytes);
    return *this;
  }
};

// Of the process: each kind, each with a peak of its own.
struct MappedLevels {
  std::array<MappedLevel, kMappedKinds> kinds;
  MappedLevel memory;  // of no file, which the program may touch

  void add(MappedKind kind, uint64_t bytes) {
    kinds[static_cast<size_t>(kind)].add(bytes);
    if (is_memory(kind)) memory.add(bytes);
  }
  void remove(MappedKind kind, uint64_t bytes) {
    kinds[static_cast<size_t>(kind)].remove(bytes);
    if (is_memory(kind)) memory.remove(bytes);
  }
  [[nodiscard]] const MappedLevel& of(MappedKind kind) const { return kinds[static_cast<size_t>(kind)]; }
  // Whether it is known of all that was ever mapped what it was.
  [[nodiscard]] bool are_known() const { return of(MappedKind::kUnknown).peak_bytes == 0; }
  MappedLevels& operator+=(const MappedLevels& other) {
    for (size_t kind = 0; kind < kMappedKinds; ++kind) kinds[kind] += other.kinds[kind];
    memory += other.memory;
    return *this;
  }
};

}  // namespace heaptap::model
