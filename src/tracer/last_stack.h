// The last stack of one thread, outermost frame first: what of it is unchanged needn't be walked again.
#pragma once
#include <cstdint>
#include <vector>

#include "unwind/frame_step.h"

namespace heaptap::tracer {

// Beside unwind::FrameOrigin: finding the frames further out depends on this frame's `fp`.
inline constexpr uint32_t kFramePointerMatters = 4;

struct KnownFrame {
  unwind::WalkFrame frame;  // its key with wire::kCodeExact where it is an interrupted instruction's
  uint32_t origin = 0;
  uint32_t number = 0;  // of the stack from the outermost frame to this one
  uint64_t code = 0;    // wire::CodeEntry
};

class LastStack {
 public:
  std::vector<KnownFrame> frames;
  uint64_t changes = 0;  // of the objects when these were found
};

}  // namespace heaptap::tracer
