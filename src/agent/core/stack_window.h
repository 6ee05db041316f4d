// Readable stack memory of a walk. The target must never fault because of the agent, so an address is read only if it
// is known to be mapped: on the thread's own stack between the stack pointer and its top, on the page that the thread
// runs on, or where the kernel has just confirmed it.
#pragma once
#include <stdint.h>

#include "agent/core/string.h"
#include "agent/core/thread_stack.h"

namespace heaptap::agent {

// Address range that begins at `low`.
struct AddressSpan {
  uintptr_t low = 0;
  uintptr_t bytes = 0;
  [[nodiscard]] __attribute__((always_inline)) bool holds(uintptr_t address) const { return address - low < bytes; }
};

class StackWindow {
 public:
  // Starts a walk of a thread that runs at `sp`.
  void begin(uintptr_t sp) {
    strayed_ = false;
    enter(sp, sp, true);
  }

  // The walk continues in the frame of a function that was interrupted at `sp`, with the `red_zone` below belonging to
  // the frame. Memory there may have been unmapped since, except on the thread's own stack.
  void enter_interrupted(uint64_t sp, uint64_t red_zone) { enter(own_address(sp), own_address(sp - red_zone), false); }

  // Reads the word at this address, if it is readable. Walks go upwards: addresses below the first frame are refused.
  bool load(uint64_t at, uint64_t& word) {
    const uintptr_t address = own_address(at);
    if (address % sizeof(uintptr_t) != 0) [[unlikely]]
      return false;
    if (address - low_ >= high_ - low_) [[unlikely]]
      return load_elsewhere(address, word);
    word = load_word(address);
    return true;
  }

  // Whether the walk is on the thread's own stack, whose memory above the stack pointer stays mapped while the thread
  // runs there.
  [[nodiscard]] bool is_on_own_stack() const { return on_own_; }
  // As is_on_own_stack(), and has read no memory elsewhere.
  [[nodiscard]] bool stayed_on_own_stack() const { return on_own_ && !strayed_; }

  // The known part of the thread's own stack.
  [[nodiscard]] AddressSpan own() const { return {own_low_, own_high_ - own_low_}; }

  // Memory [begin, end) is about to be unmapped or made unreadable, while the thread runs at `sp`. Returns whether it
  // overlaps the known part of the thread's own stack, which shrinks then.
  bool forget(uintptr_t begin, uintptr_t end, uintptr_t sp);

 private:
  void enter(uintptr_t sp, uintptr_t low, bool runs_there) {
    low_ = low & ~(sizeof(uintptr_t) - 1);
    on_own_ = low_ - own_low_ < own_high_ - own_low_;
    high_ = own_high_;
    if (!on_own_) [[unlikely]]
      enter_elsewhere(sp, runs_there);
  }
  void enter_elsewhere(uintptr_t sp, bool runs_there);
  bool load_elsewhere(uintptr_t address, uint64_t& word);
  void find_own();
  bool grow_to(uintptr_t sp, bool runs_there);
  [[nodiscard]] uintptr_t lowest_own() const;

  uintptr_t low_ = 0;
  uintptr_t high_ = 0;     // readable from `low_` up to here in this walk
  uintptr_t own_low_ = 0;  // known part of the thread's own stack
  uintptr_t own_high_ = 0;
  StackBounds bounds_;  // bounds of the stack that contains it
  bool was_sought_ = false;
  bool on_own_ = false;
  bool strayed_ = false;
};

}  // namespace heaptap::agent
