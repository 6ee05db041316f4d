// What the agent needs of its CPU. Freestanding. To be included by arch/native.h only.
//
// Besides what stands here a directory has four pieces of assembly, which the agent links: signal_return.S (what a handler of its own
// returns to), guarded_call.S and ending.S (calls that keep all registers as they are), clone_call.S (a process on a stack of its own).
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <atomic>
#include <concepts>

namespace heaptap::arch {

// System calls without errno: the result is the kernel's.
static_assert(requires(long argument) {
  { native::system_call(argument, argument, argument, argument, argument, argument, argument) } -> std::same_as<long>;
});

// The clock that orders events: read as it comes, not before all earlier loads are done, and not before all that is earlier is done.
static_assert(requires {
  { native::read_clock() } -> std::same_as<uint64_t>;
  { native::read_clock_behind() } -> std::same_as<uint64_t>;
  { native::read_clock_in_order() } -> std::same_as<uint64_t>;
});

// The thread pointer, and what glibc keeps at it: the thread's number, and its mark while it searches the loader's scopes.
static_assert(std::same_as<decltype(native::kGlibcThreadNumber), const unsigned>);
static_assert(requires(uint32_t mark) {
  { native::thread_control_block() } -> std::same_as<uintptr_t>;
  { native::exchange_search_mark(mark) } -> std::same_as<uint32_t>;
  { native::set_search_mark(mark) } -> std::same_as<bool>;
  { native::search_mark_address() } -> std::same_as<uintptr_t>;
});

// Registers and frames, by DWARF's numbers, and where a signal's frame has those that were interrupted.
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
