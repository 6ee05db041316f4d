// Recorded part of the stacks of releases. Freestanding.
#pragma once
#include <stdint.h>

namespace heaptap::wire {

enum class ReleaseStacks : uint8_t { kFull = 0, kCaller = 1, kNone = 2 };
inline constexpr uint32_t kReleaseStacksCount = 3;
// Values of --release-stacks PART, indexed by enumerator.
inline constexpr const char* kReleaseStacksNames[kReleaseStacksCount] = {"full", "caller", "none"};
inline constexpr ReleaseStacks kUsualReleaseStacks = ReleaseStacks::kCaller;

}  // namespace heaptap::wire
