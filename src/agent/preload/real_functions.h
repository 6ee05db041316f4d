// Real functions behind the hooks: the next definition of each name after the agent, in the loader's search order.
// Found without dlsym, which allocates.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <atomic>

#include "agent/core/code_extent.h"
#include "common/wire/functions.h"

#include "agent/preload/exec_functions.h"

namespace heaptap::agent {

// Functions that aren't in common/wire/functions.def: hooked for other reasons than events, or called by the agent. And one number.
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
  with(kSetLongLimit, "setrlimit64")                        \
  with(kGetLongLimit, "getrlimit64")                        \
  with(kExchangeLongLimit, "prlimit64")                     \
  with(kProcessControl, "prctl")                            \
  with(kUnshare, "unshare")                                 \
  with(kSetNamespace, "setns")                              \
  with(kClone, "clone")                                     \
  with(kOpenLibrary, "dlopen")                              \
  with(kOpenInNamespace, "dlmopen")                         \
  with(kLockAll, "mlockall")                                \
  with(kControlBlockBytes, "_thread_db_sizeof_pthread")     \
  with(kVersion, "gnu_get_libc_version")
// clang-format on
enum class Other : uint8_t {
#define HEAPTAP_OTHER_NAME(enumerator, name) enumerator,
  HEAPTAP_OTHER_FUNCTIONS(HEAPTAP_OTHER_NAME) HEAPTAP_EXEC_FUNCTIONS(HEAPTAP_OTHER_NAME)
#undef HEAPTAP_OTHER_NAME
      kCount
};
constexpr size_t kOtherCount = static_cast<size_t>(Other::kCount);

// Real functions and facts of them, as defined by the objects that the program was started with. Found by the first
// hook called, or as the agent is loaded: before there are threads. Later, and in forked children, the loader isn't
// asked: a child may have copies of its locks that are never released, and no thread-local memory made by libc.
struct RealFunctions {
  void* of[wire::kFunctionCount];  // null: not defined
  void* other[kOtherCount];
  bool searched;
  // All forms of operator new and delete are the C++ library's own, malloc with a new_handler and free, and the program
  // replaces none of them, nor the functions that they call.
  bool standard_cpp;
  // The program replaces some forms of operators whose blocks others release: then the operators that pass the hooks
  // are no events, but the calls of malloc and free made by them and by the program's are.
  bool splits_cpp;
  CodeExtent code[wire::kFunctionCount];  // of each function
  CodeExtent cpp;                         // around those of operator new, where they are standard
  CodeExtent allocator;                   // the object that malloc comes from
  CodeExtent loader;
  CodeExtent around;  // all three: most callers aren't in it

  // Whether code at this address belongs to one of the listed functions: calls between these are not events of the program.
  [[nodiscard]] bool is_one_of_them(uintptr_t address) const {
    return (cpp.holds(address) || allocator.holds(address)) && is_within_one(address);
  }
  [[nodiscard]] bool is_within_one(uintptr_t address) const;
  // Whether it is that of a form of operator new.
  [[nodiscard]] bool is_within_new(uintptr_t address) const;
};
extern RealFunctions g_real;

// Looks up all functions, once. False while the loader hasn't relocated the agent: nothing can be called.
bool find_real_functions();

// The real function; null: not defined, or too early.
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

// Whether the C++ libraries' operators call this function.
constexpr bool is_called_by_operators(wire::Function function) {
  using wire::Function;
  return function == Function::kMalloc || function == Function::kFree || function == Function::kAlignedAlloc ||
         function == Function::kPosixMemalign || function == Function::kMemalign;
}

// Allocator for calls before any real function can be called. Its memory is never given back.
void* early_allocate(size_t alignment, size_t bytes);
bool is_early(const void* block);
size_t early_size(const void* block);  // number of bytes that may be copied

}  // namespace heaptap::agent
