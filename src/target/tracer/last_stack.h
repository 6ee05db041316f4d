// The last stack of one thread, outermost frame first: what of it is unchanged needn't be walked again.
#pragma once
#include <cstdint>
#include <vector>

#include "unwind/row.h"

namespace heaptap::tracer {

// A frame as a walk finds it: where the return address was read, the address itself, and the registers of the function that it
// returns to.
struct WalkFrame {
  uint64_t slot = 0;  // 0: not on the stack: in a register, or in a signal's frame
  uint64_t key = 0;   // the return address; with wire::kCodeExact an interrupted instruction's
  uint64_t sp = 0;
  uint64_t fp = 0;
  uint64_t fp_slot = 0;   // where `fp` was read from; 0: it is the register's value at the start
  uint64_t cfa_slot = 0;  // where `sp` was read from; 0: it follows from the next inner frame
};

// How the walk came from the next inner frame to this one.
enum FrameWay : uint32_t {
  kByFramePointer = 1,       // found by way of the frame pointer
  kLoadsFramePointer = 2,    // the frame pointer was read from the stack
  kFramePointerMatters = 4,  // finding the frames further out depends on this frame's `fp`
};

struct KnownFrame {
  WalkFrame frame;
  uint32_t way = 0;
  uint32_t number = 0;  // of the stack from the outermost frame to this one
  uint64_t code = 0;    // wire::CodeEntry
};

class LastStack {
 public:
  std::vector<KnownFrame> frames;
  uint64_t changes = 0;  // of the objects when these were found
};

}  // namespace heaptap::tracer
