// Call of a hook, seen from the hook, on a CPU whose calls leave nothing on the stack, and for an agent that is compiled without a use of
// its own for the frame register, which is therefore the caller's (src/agent/CMakeLists.txt).
#pragma once
#include <stdint.h>

namespace heaptap::arch {

// `mask`: the bits of a return address that are its address.
template <uintptr_t mask>
class RegisterCallSite {
 public:
  RegisterCallSite(uintptr_t return_address, uintptr_t fp, uintptr_t sp)
      : return_address_(return_address & mask), fp_(fp), sp_(sp) {}

  [[nodiscard]] uintptr_t return_address() const { return return_address_; }
  [[nodiscard]] uintptr_t fp() const { return fp_; }
  [[nodiscard]] uintptr_t sp() const { return sp_; }
  [[nodiscard]] static uintptr_t slot() { return 0; }  // in a register
  [[nodiscard]] uintptr_t bottom() const { return sp_; }

 private:
  uintptr_t return_address_;
  uintptr_t fp_;
  uintptr_t sp_;
};

}  // namespace heaptap::arch

// The caller's stack pointer is the frame's address (CFA).
#define HEAPTAP_NATIVE_CALL_SITE()                                                            \
  ::heaptap::arch::native::CallSite(reinterpret_cast<uintptr_t>(__builtin_return_address(0)), \
                                    ::heaptap::arch::native::frame_register(),                \
                                    reinterpret_cast<uintptr_t>(__builtin_dwarf_cfa()))
