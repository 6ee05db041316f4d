// Kinds of mapped memory: each mapped byte has one kind at a time, so the kinds add up to the mapped size.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "common/wire/mapping.h"

namespace heaptap::model {

enum class MappedKind : uint8_t {
  kReserved,  // no access: address space without memory
  kPrivate,   // anonymous, private
  kShared,    // anonymous, shared with children
  kStack,     // anonymous, for a thread's stack
  kFile,      // of a file, a device, a memfd
  kUnknown,   // not recorded by an older version, or moved here from an unseen mapping
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
  // Of several processes: the time of their common peak isn't known.
  MappedLevel& operator+=(const MappedLevel& other) {
    live_bytes += other.live_bytes;
    peak_bytes = std::max(peak_bytes, other.peak_bytes);
    return *this;
  }
};

// Levels of a process: each kind, with its own peak.
struct MappedLevels {
  std::array<MappedLevel, kMappedKinds> kinds;
  MappedLevel memory;  // accessible anonymous memory

  void add(MappedKind kind, uint64_t bytes) {
    kinds[static_cast<size_t>(kind)].add(bytes);
    if (is_memory(kind)) memory.add(bytes);
  }
  void remove(MappedKind kind, uint64_t bytes) {
    kinds[static_cast<size_t>(kind)].remove(bytes);
    if (is_memory(kind)) memory.remove(bytes);
  }
  [[nodiscard]] const MappedLevel& of(MappedKind kind) const { return kinds[static_cast<size_t>(kind)]; }
  // Whether the kind of everything ever mapped is known.
  [[nodiscard]] bool are_known() const { return of(MappedKind::kUnknown).peak_bytes == 0; }
  MappedLevels& operator+=(const MappedLevels& other) {
    for (size_t kind = 0; kind < kMappedKinds; ++kind) kinds[kind] += other.kinds[kind];
    memory += other.memory;
    return *this;
  }
};

}  // namespace heaptap::model
