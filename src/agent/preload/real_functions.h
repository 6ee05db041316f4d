// The functions that the hooks stand in front of: the next definition of each name behind the agent in the order in
// which the loader searches. Found without dlsym, which allocates.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <atomic>

#include "agent/core/code_extent.h"
#include "wire/functions.h"

#include "agent/preload/exec_functions.h"

namespace heaptap::agent {

// Functions that aren't in wire/functions.def: those that the agent stands in front of for other reasons than their events, and
// those that it calls.
// clang-format off
#define HEAPTAP_OTHER_FUNCTIONS(with)                       \
  with(kStartMain, "__libc_start_main")                     \
  with(kOnExit, "on_exit")                                  \
  with(kAtQuickExit, "__cxa_at_quick_exit")                 \
  with(kExit, "exit")                                       \
  with(kQuickExit, "quick_exit")                            \
  with(kDirectExit, "_exit")                                \
  with(kMakeContext, "makecontext")                         \
  with(kSystemCall, "syscall")                              \
  with(kAlternateStack, "sigaltstack")                      \
  with(kSignalAction, "sigaction")                          \
  with(kSignal, "signal")                                   \
  with(kSignalInterrupt, "siginterrupt")                    \
  with(kSystemVSignal, "sysv_signal")                       \
  with(kSignalSet, "sigset")                                \
  with(kSetLimit, "setrlimit")                              \
  with(kGetLimit, "getrlimit")                              \
  with(kExchangeLimit, "prlimit")                           \
  with(kProcessControl, "prctl")                            \
  with(kUnshare, "unshare")                                 \
  with(kSetNamespace, "setns")                              \
  with(kClone, "clone")                                     \
  with(kOpenLibrary, "dlopen")                              \
  with(kOpenInNamespace, "dlmopen")                         \
  with(kLockAll, "mlockall")                                \
  with(kVersion, "gnu_get_libc_version")
// clang-format on
enum class Other : uint8_t {
#define HEAPTAP_OTHER_NAME(enumerator, name) enumerator,
  HEAPTAP_OTHER_FUNCTIONS(HEAPTAP_OTHER_NAME) HEAPTAP_EXEC_FUNCTIONS(HEAPTAP_OTHER_NAME)
#undef HEAPTAP_OTHER_NAME
      kCount
};
constexpr size_t kOtherCount = static_cast<size_t>(Other::kCount);

// All that the hooks need of the loader, as the objects define it that the program was started with. Found by the first hook
// that is called, or as the agent is loaded: before there are threads. Later, and in forked children, the loader isn't asked:
// they may have copies of its locks that nobody releases, and no thread-local memory that libc made.
struct RealFunctions {
  void* of[wire::kFunctionCount];  // null: none defines it
  void* other[kOtherCount];
  bool searched;
  // All forms of operator new and delete are the C++ library's own, malloc with a new_handler and free, and the program
  // replaces none of them, nor the functions that they call.
  bool standard_cpp;
  // The program replaces some forms of operators whose blocks others release: then those that pass the hooks are no events, but
  // what they and the program's make of malloc and free.
  bool splits_cpp;
  CodeExtent code[wire::kFunctionCount];  // of each function
  CodeExtent cpp;                         // around those of operator new, where they are standard
  CodeExtent allocator;                   // the object that malloc comes from
  CodeExtent loader;

  // Whether code at this address is one of the functions in the list: what it calls of others is its own affair.
  [[nodiscard]] bool is_one_of_them(uintptr_t address) const {
    return (cpp.holds(address) || allocator.holds(address)) && is_within_one(address);
  }
  [[nodiscard]] bool is_within_one(uintptr_t address) const;
};
extern RealFunctions g_real;

// Looks all of them up, once. False while the loader hasn't relocated the agent: nothing can be called.
bool find_real_functions();

// The real function; null: nobody defines it, or it is too early.
template <typename Signature>
inline Signature* real(Other function) {
  if (!g_real.searched) [[unlikely]]
    find_real_functions();
  return reinterpret_cast<Signature*>(g_real.other[static_cast<uint8_t>(function)]);
}

template <typename Signature>
inline Signature* real(wire::Function function) {
  return reinterpret_cast<Signature*>(g_real.of[static_cast<uint8_t>(function)]);
}

// What the C++ libraries' operators are made of.
constexpr bool is_called_by_operators(wire::Function function) {
  using wire::Function;
  return function == Function::kMalloc || function == Function::kFree || function == Function::kAlignedAlloc ||
         function == Function::kPosixMemalign || function == Function::kMemalign;
}

// Memory for calls that come before any real function can be called. Never given back.
void* early_allocate(size_t alignment, size_t bytes);
bool is_early(const void* block);
size_t early_size(const void* block);  // how much of it may be copied

}  // namespace heaptap::agent
