// CPU contract of the agent. Freestanding. To be included by common/arch/native.h only.
//
// Besides the following, a CPU's directory has four assembly files, which the agent links: signal_return.S (restorer of its own
// handlers), guarded_call.S and ending.S (calls that preserve all registers), clone_call.S (a process with a stack of its own).
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <atomic>
#include <concepts>

namespace heaptap::arch {

// Page size: a power of two.
static_assert(std::same_as<decltype(native::kPageBytes), const uintptr_t> &&
              (native::kPageBytes & (native::kPageBytes - 1)) == 0);

// System calls without errno: the result is the kernel's.
static_assert(requires(long argument) {
  { native::system_call(argument, argument, argument, argument, argument, argument, argument) } -> std::same_as<long>;
});

// Clock of events: unordered, ordered after all earlier loads, and ordered after all earlier loads and stores.
static_assert(requires {
  { native::read_clock() } -> std::same_as<uint64_t>;
  { native::read_clock_behind() } -> std::same_as<uint64_t>;
  { native::read_clock_in_order() } -> std::same_as<uint64_t>;
});

// The thread pointer, and glibc's data at it: the thread's number, and its mark while it searches the loader's scopes.
static_assert(std::same_as<decltype(native::kGlibcThreadNumber), const unsigned>);
static_assert(requires(uint32_t mark) {
  { native::thread_control_block() } -> std::same_as<uintptr_t>;
  { native::exchange_search_mark(mark) } -> std::same_as<uint32_t>;
  { native::set_search_mark(mark) } -> std::same_as<bool>;
  { native::search_mark_address() } -> std::same_as<uintptr_t>;
});

// Registers and frames by DWARF number, and the place of the interrupted registers in a signal's frame.
static_assert(std::unsigned_integral<native::Unwinding::Word>);
static_assert(native::Unwinding::kStackPointer != native::Unwinding::kFramePointer &&
              native::Unwinding::kReturnAddress != native::Unwinding::kStackPointer &&
              native::Unwinding::kReturnAddressWords <= 0 && native::Unwinding::kRedZoneBytes % 16 == 0);
static_assert(native::Unwinding::kSignalProgramCounter != native::Unwinding::kSignalStackPointer &&
              native::Unwinding::kSignalFramePointer != native::Unwinding::kSignalStackPointer &&
              native::Unwinding::kSignalMask != 0);

// Small things of the hot path: a counter that one thread writes, a hint, copies without libc.
static_assert(requires(std::atomic<uint64_t>& counter, uint64_t amount, const uint8_t* address, void* to) {
  native::add_own(counter, amount);
  native::prefetch_for_write(address);
  native::copy_bytes(to, address, sizeof(counter));
  native::fill_bytes(to, 0, sizeof(counter));
});

}  // namespace heaptap::arch
