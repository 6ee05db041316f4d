// Decision on a thread while code is being replaced: pure, from what the kernel tells of it without stopping it, or from where it has
// stopped. A thread that waits in a system call is left alone: a stop would end some calls with EINTR and begin timeouts anew.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/base/address_range.h"

namespace heaptap::inject {

// /proc/PID/task/TID/syscall.
struct ThreadPlace {
  enum class Kind : uint8_t {
    kGone,      // or not told
    kRunning,   // or about to
    kInKernel,  // not in a system call: stopped, or at a page fault
    kInCall
  };
  Kind kind = Kind::kGone;
  int64_t call = -1;
  uint64_t arguments[6] = {};
  uint64_t stack_pointer = 0;
  uint64_t program_counter = 0;
};
ThreadPlace parse_thread_place(std::string_view text);

enum class Verdict : uint8_t {
  kGone,
  kSafe,  // it is outside, and comes in through an entry only
  kStop,  // it has to be stopped to say so
};

// For a thread that hasn't been stopped. `inner`: where nobody may be. Calls that make threads or processes aren't left alone: what
// they make may not be traced.
Verdict judge_running(const ThreadPlace& place, std::span<const base::AddressRange> inner);

// Who has offered a scan at the end of the process, with this thread's state.
enum class Offerer : uint8_t {
  kThread,  // itself: it waits in a loop
  kChild,  // a child that shares the memory until it ends or executes a program: the thread waits for that in the kernel
  kUnknown,  // now: the thread is stopped, or a signal handler runs over the loop
};
Offerer offerer_at(const ThreadPlace& place);

// For a stopped thread.
constexpr bool is_outside(uint64_t program_counter, std::span<const base::AddressRange> inner) {
  for (const base::AddressRange& range : inner) {
    if (range.contains(program_counter)) return false;
  }
  return true;
}

// Whether a signal handler's frame on this piece of a stack says that code in one of the ranges was interrupted, so that the thread will
// be there again (struct sigcontext: program counter, flags, code segment). Frames that lie across the end aren't seen.
bool has_interrupted(std::span<const uint64_t> stack, std::span<const base::AddressRange> inner);
inline constexpr size_t kInterruptedWords = 3;

// What isn't in the arguments of a call, but says whether it goes on after a stop as if there had been none. By default: unknown.
struct WaitFacts {
  std::string file = {};       // what the first argument's descriptor is, as /proc/PID/fd names it; a pipe: "pipe:"
  bool may_end_early = true;   // a socket: its waits have a limit (SO_RCVTIMEO), or are for several bytes (SO_RCVLOWAT)
  bool keeps_timeout = false;  // there is none, or the kernel may write what is left of it to where it is
  bool has_mask = true;        // of signals, while it waits
};

// Arguments of select and its relatives, which point to their timeout and to a mask of signals. None: another call.
struct WaitArguments {
  size_t timeout = 0;
  std::optional<size_t> mask = {};
  bool is_mask_indirect = false;  // it points to the mask's address and size
};
std::optional<WaitArguments> wait_arguments(int64_t call);

// How well a thread can make system calls for the injector, which stops it for that. The highest is best; 0: not at all. Only calls
// that go on after a stop as if there had been none.
unsigned fitness_for_calls(const ThreadPlace& place, const WaitFacts& facts = {});

}  // namespace heaptap::inject
