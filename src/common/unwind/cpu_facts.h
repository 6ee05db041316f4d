// CPU facts needed for stack walks, as a concept.
#pragma once
#include <stdint.h>

#include <concepts>

namespace heaptap::unwind {

// An arch's Unwinding: static facts only. An instance also knows what only the machine that runs the program can say.
template <typename T>
concept UnwoundCpu = requires(const T& cpu) {
  requires std::same_as<typename T::Word, uint32_t> || std::same_as<typename T::Word, uint64_t>;
  // Numbers of registers in DWARF.
  { T::kStackPointer } -> std::convertible_to<uint32_t>;
  { T::kFramePointer } -> std::convertible_to<uint32_t>;
  { T::kReturnAddress } -> std::convertible_to<uint32_t>;
  // Location of the return address after a call, in words from the CFA; 0: in the register kReturnAddress, the link register.
  { T::kReturnAddressWords } -> std::convertible_to<int>;
  // The place, in words from the CFA, in which a return address lies once the called function has saved it, or below which it does:
  // what is there when a function begins is no part of the stack any more, and what is above it is the caller's.
  { T::kReturnSlotWords } -> std::convertible_to<int>;
  // Whether a loaded object's tables are ARM's exception index (exception_index.h), in place of .eh_frame.
  { T::kHasExceptionIndex } -> std::convertible_to<bool>;
  // Whether code without CFI usually keeps frame records that its frame pointer points at.
  { T::kHasFrameRecords } -> std::convertible_to<bool>;
  // Location of the saved frame pointer in a function with a frame pointer, in words from that; the return address
  // follows, then the CFA.
  { T::kFrameRecordWords } -> std::convertible_to<int>;
  // Whether CFI marks where return addresses are signed (DW_CFA_AARCH64_negate_ra_state).
  { T::kSignsReturnAddresses } -> std::convertible_to<bool>;
  // Whether the word in memory that holds a return address may have more than that: a signature, or an instruction set.
  { T::kTagsReturnAddresses } -> std::convertible_to<bool>;
  // Below SP, left alone by signal handlers.
  { T::kRedZoneBytes } -> std::convertible_to<uint64_t>;
  // Bits of a code address, without what else a return address may have.
  { cpu.address_mask() } -> std::same_as<uint64_t>;
};

template <UnwoundCpu Cpu>
inline constexpr bool kHasLinkRegister = Cpu::kReturnAddressWords == 0;

}  // namespace heaptap::unwind
