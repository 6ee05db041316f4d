// Call of a hook, seen from the hook: where a stack walk begins.
#pragma once
#include <stdint.h>

namespace heaptap::arch::aarch64 {

// The call leaves nothing on the stack; the hook has saved the caller's frame pointer and the return address in its frame record.
class CallSite {
 public:
  // `record`: [the caller's frame pointer, the return address]. `sp`: the caller's stack pointer.
  CallSite(const uintptr_t* record, uintptr_t sp) : record_(record), sp_(sp) {}

  [[nodiscard]] uintptr_t return_address() const { return record_[1]; }
  [[nodiscard]] uintptr_t fp() const { return record_[0]; }
  [[nodiscard]] uintptr_t sp() const { return sp_; }
  [[nodiscard]] static uintptr_t slot() { return 0; }  // in a register
  [[nodiscard]] uintptr_t bottom() const { return sp_; }

 private:
  const uintptr_t* record_;
  uintptr_t sp_;
};

}  // namespace heaptap::arch::aarch64

// In a function with a frame pointer, which points at its frame record; the caller's stack pointer is the frame's address (CFA).
#define HEAPTAP_NATIVE_CALL_SITE()                                                             \
  ::heaptap::arch::native::CallSite(static_cast<const uintptr_t*>(__builtin_frame_address(0)), \
                                    reinterpret_cast<uintptr_t>(__builtin_dwarf_cfa()))
