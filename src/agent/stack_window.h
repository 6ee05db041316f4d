// Which stack memory may be read. The target must never fault on our account, so an address is read only if it is known
// to be mapped: on the thread's own stack between the stack pointer and its top, or where the kernel said so just now.
#pragma once
#include <stdint.h>

namespace heaptap::agent {

class StackWindow {
 public:
  // At the start of a walk whose first frame is at `sp`; in the frame of an interrupted function the `red_zone` below it
  // belongs to the frame.
  void enter(uintptr_t sp, uintptr_t red_zone = 0) {
    sp_ = sp - red_zone;
    if (sp_ >= own_low_ && sp < own_high_) [[likely]] {
      high_ = own_high_;
      return;
    }
    enter_elsewhere(sp);
  }

  // Whether this is an address on the thread's own stack as far as it is known.
  [[nodiscard]] bool is_own(uintptr_t address) const { return address >= own_low_ && address < own_high_; }

  // Whether the word at this address can be read. Walks go upwards: what is below the first frame is refused.
  bool readable(uintptr_t address) {
    if (address - sp_ < high_ - sp_ - 7) [[likely]]
      return (address & 7) == 0;
    return readable_elsewhere(address);
  }

  // Whether the walk is on the thread's own stack, whose memory stays mapped as long as the thread runs.
  [[nodiscard]] bool on_own_stack() const { return high_ == own_high_; }

  // The walk reached the thread's first frame at this address: was it on the thread's own stack, its top is known now.
  void reached_root(uintptr_t address);

 private:
  void enter_elsewhere(uintptr_t sp);
  bool readable_elsewhere(uintptr_t address);
  [[nodiscard]] bool has_grown_to(uintptr_t sp) const;

  uintptr_t sp_ = 0;
  uintptr_t high_ = 0;     // readable up to here in this walk
  uintptr_t own_low_ = 0;  // the thread's own stack, as far as it was seen
  uintptr_t own_high_ = 0;
};

}  // namespace heaptap::agent
