// What a walk over stacks has to know of a CPU.
#pragma once
#include <stdint.h>

#include <concepts>

namespace heaptap::unwind {

// An arch's Unwinding: facts alone. An object of it says what only the machine that the program runs on can say.
template <typename T>
concept UnwoundCpu = requires(const T& cpu) {
  requires std::same_as<typename T::Word, uint32_t> || std::same_as<typename T::Word, uint64_t>;
  // Numbers of registers in DWARF.
  { T::kStackPointer } -> std::convertible_to<uint32_t>;
  { T::kFramePointer } -> std::convertible_to<uint32_t>;
  { T::kReturnAddress } -> std::convertible_to<uint32_t>;
  // Where a call leaves the return address, in words from the CFA; 0: in the register kReturnAddress, the link register.
  { T::kReturnAddressWords } -> std::convertible_to<int>;
  // Where a function that has a frame pointer keeps its caller's, in words from there; the return address is behind it, and
  // behind that the CFA.
  { T::kFrameRecordWords } -> std::convertible_to<int>;
  // Whether CFI says where return addresses are signed (DW_CFA_AARCH64_negate_ra_state).
  { T::kSignsReturnAddresses } -> std::convertible_to<bool>;
  // Below SP, left alone by signal handlers.
  { T::kRedZoneBytes } -> std::convertible_to<uint64_t>;
  // The bits that an address of code can have: what a return address has beside these is its signature.
  { cpu.address_mask() } -> std::same_as<uint64_t>;
};

template <UnwoundCpu Cpu>
inline constexpr bool kHasLinkRegister = Cpu::kReturnAddressWords == 0;

}  // namespace heaptap::unwind
