// Choice of the blocks that are recorded where blocks are sampled (common/wire/sampling.h). Each thread counts its allocated bytes down to
// its next sample, so that the choice costs the others a subtraction; and it counts all calls, for exact totals.
#pragma once
#include <stdint.h>

#include "agent/core/platform.h"
#include "agent/core/sampled_blocks.h"
#include "common/arch/native.h"
#include "common/wire/sampling.h"

namespace heaptap::agent {

class Sampler {
 public:
  // Called once a session. False: no memory.
  bool start(uint64_t interval) {
    interval_ = interval;
    return blocks_.start();
  }

  // Counts an allocation. True: record it, if add() takes it.
  __attribute__((always_inline)) bool chooses(ThreadAnchor& anchor, uint64_t size_bytes) {
    return !passes_by(anchor, size_bytes) && chooses_rarely(anchor, size_bytes);
  }
  // The same for most blocks, which aren't chosen; false: ask chooses(). Always false where blocks aren't sampled.
  static __attribute__((always_inline)) bool passes_by(ThreadAnchor& anchor, uint64_t size_bytes) {
    if (anchor.sample_left <= size_bytes) return false;
    anchor.sample_left -= wire::sampled_bytes(size_bytes);
    count_allocation(anchor, size_bytes);
    return true;
  }
  // Call before the program has the block. False: there is no memory for it; counted as lost.
  bool add(uintptr_t block, uint64_t size_bytes);

  // Counts a release. True: it is that of a recorded block.
  __attribute__((always_inline)) bool ends(ThreadAnchor& anchor, uintptr_t block) {
    return !passes_by_release(anchor, block) && ends_rarely(anchor, block);
  }
  // The same for most blocks, which aren't recorded; false: ask ends().
  __attribute__((always_inline)) bool passes_by_release(ThreadAnchor& anchor, uintptr_t block) const {
    if (anchor.calls == nullptr || blocks_.may_have(block)) return false;
    arch::native::add_own(anchor.calls->releases, 1);
    return true;
  }

  // The last counted release didn't happen; `was_recorded`: what ends() returned.
  void undo(ThreadAnchor& anchor, uintptr_t block, bool was_recorded) {
    arch::native::add_own(anchor.calls->releases, ~uint64_t{0});
    if (was_recorded) blocks_.add(block);
  }

  // The thread's stream is no longer its own, and so are its counts.
  static void forget(ThreadAnchor& anchor) {
    anchor.sample_left = 0;
    anchor.calls = nullptr;
  }

  // Distance to a next sample: exponentially distributed, at least 1, so that each byte is chosen independently of all others.
  static uint64_t draw(uint64_t& seed, uint64_t interval);

 private:
  static __attribute__((always_inline)) void count_allocation(ThreadAnchor& anchor, uint64_t size_bytes) {
    arch::native::add_own(anchor.calls->allocations, 1);
    arch::native::add_own(anchor.calls->allocated_bytes, size_bytes);
  }
  bool chooses_rarely(ThreadAnchor& anchor, uint64_t size_bytes);
  bool ends_rarely(ThreadAnchor& anchor, uintptr_t block);
  void draw_next(ThreadAnchor& anchor) { anchor.sample_left = draw(anchor.sample_seed, interval_) - 1; }
  void begin_thread(ThreadAnchor& anchor);

  uint64_t interval_ = 0;
  SampledBlocks blocks_;
};

}  // namespace heaptap::agent
