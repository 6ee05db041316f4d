// CPU contract of the agent. Freestanding. To be included by common/arch/native.h only.
//
// Besides the following, a CPU's directory has assembly files, which the agent links: guarded_call.S and ending.S (calls that preserve
// all registers), clone_call.S (a process with a stack of its own), and signal_return.S where the kernel wants a restorer of handlers.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <concepts>
#include <type_traits>

#include "common/arch/signal_frames.h"
#include "common/wire/atomic_64.h"

namespace heaptap::arch {

// What the log shares between processes (common/wire/log.h), which a library's lock would be no lock for.
static_assert(wire::Atomic64::is_always_lock_free);

// Page sizes that kernels are configured with: powers of two.
static_assert(std::same_as<decltype(native::kLargestPageBytes), const uintptr_t> &&
              (native::kSmallestPageBytes & (native::kSmallestPageBytes - 1)) == 0 &&
              (native::kLargestPageBytes & (native::kLargestPageBytes - 1)) == 0 &&
              native::kSmallestPageBytes <= native::kLargestPageBytes);

// mmap, or mmap2, and the unit of its offset.
static_assert(std::same_as<decltype(native::kMapCall), const long> &&
              std::same_as<decltype(native::kMapOffsetUnit), const long>);
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

// The thread pointer. glibc's control block begins or ends there, and has the thread's number and its mark while it searches the
// loader's scopes at these offsets, up to version 2.kLastGlibcMinor.
static_assert(std::same_as<decltype(native::kGlibcThreadNumber), const unsigned> &&
              std::same_as<decltype(native::kGlibcSearchMark), const unsigned> &&
              std::same_as<decltype(native::kControlBlockIsBelow), const bool> &&
              std::same_as<decltype(native::kLastGlibcMinor), const unsigned>);
static_assert(requires {
  { native::thread_pointer() } -> std::same_as<uintptr_t>;
});

// Call of a hook, made by HEAPTAP_NATIVE_CALL_SITE() in the hook: where the caller goes on, its registers after that, the place of
// the return address (0: in a register), and the lowest address of what belongs to the caller.
static_assert(requires(const native::CallSite& site) {
  { site.return_address() } -> std::same_as<uintptr_t>;
  { site.fp() } -> std::same_as<uintptr_t>;
  { site.sp() } -> std::same_as<uintptr_t>;
  { site.slot() } -> std::same_as<uintptr_t>;
  { site.bottom() } -> std::same_as<uintptr_t>;
});

// Registers that ending.S passes, and main's return: see main_return.h of the directory.
static_assert(native::kPassedRegisters > 0 && native::kPreservedRegisters > 0);
static_assert(requires(uintptr_t place, uintptr_t return_address) {
  { native::has_returned(place, return_address) } -> std::same_as<bool>;
  { native::caller_sp(place) } -> std::same_as<uintptr_t>;
});

// Registers and frames by DWARF number, and the place of the interrupted registers in a signal's frame.
static_assert(std::unsigned_integral<native::Unwinding::Word>);
static_assert(native::Unwinding::kStackPointer != native::Unwinding::kFramePointer &&
              native::Unwinding::kReturnAddress != native::Unwinding::kStackPointer &&
              native::Unwinding::kReturnAddressWords <= 0 &&
              std::same_as<decltype(native::Unwinding::kNeedsRestorer), const bool> &&
              native::Unwinding::kRedZoneBytes % 16 == 0);
static_assert(native::Unwinding::kSignalProgramCounter != native::Unwinding::kSignalStackPointer &&
              native::Unwinding::kSignalFramePointer != native::Unwinding::kSignalStackPointer &&
              native::Unwinding::kSignalMask != 0);

// Code that a handler returns to, and the place of the interrupted registers in its frame: the first serves for what CFI marks.
static_assert(std::same_as<std::remove_cvref_t<decltype(native::kSignalTrampolines[0])>, SignalTrampoline>);

// Where a jump in these bytes leads, were they an instruction at that address; 0: they are none to a fixed place.
static_assert(requires(const uint8_t* code, uint64_t address) {
  { native::jump_target(code, address) } -> std::same_as<uint64_t>;
} && native::kMaxJumpBytes > 0 && native::kCodeStep > 0);

// Small things of the hot path: a counter that one thread writes, a hint, copies without libc, registers without what the agent left there.
static_assert(requires(wire::Atomic64& counter, uint64_t amount, const uint8_t* address, void* to) {
  native::add_own(counter, amount);
  native::prefetch_for_write(address);
  { native::clear_leftovers(uintptr_t{}) } -> std::same_as<uintptr_t>;
  native::copy_bytes(to, address, sizeof(counter));
  native::fill_bytes(to, 0, sizeof(counter));
});

}  // namespace heaptap::arch
