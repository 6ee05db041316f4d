// Call of a hook, seen from the hook: where a stack walk begins.
#pragma once
#include <stdint.h>

namespace heaptap::arch::x86_64 {

// The return address lies on the stack, above the caller's frame pointer, which the hook has saved.
class CallSite {
 public:
  // `slot`: of the return address.
  explicit CallSite(const uintptr_t* slot) : slot_(slot) {}

  [[nodiscard]] uintptr_t return_address() const { return slot_[0]; }
  [[nodiscard]] uintptr_t fp() const { return slot_[-1]; }
  [[nodiscard]] uintptr_t sp() const { return reinterpret_cast<uintptr_t>(slot_ + 1); }  // after the return
  // Place of the return address on the stack.
  [[nodiscard]] uintptr_t slot() const { return reinterpret_cast<uintptr_t>(slot_); }
  // Lowest address of what the call has put on the stack for its caller.
  [[nodiscard]] uintptr_t bottom() const { return slot(); }

 private:
  const uintptr_t* slot_;
};

}  // namespace heaptap::arch::x86_64

// In a function with a frame pointer: [FP] the caller's, [FP + word] the return address.
#define HEAPTAP_NATIVE_CALL_SITE() \
  ::heaptap::arch::native::CallSite(static_cast<const uintptr_t*>(__builtin_frame_address(0)) + 1)
