// Hooks of the injected agent: before and after each function of HEAPTAP_INJECTED_HOOKS. The stubs (common/arch/*/injected_hooks.S) come
// from the function's patched entry, keep all registers, and call these. As in the preloaded agent a release is recorded before it
// happens, an allocation after.
#include <stddef.h>
#include <stdint.h>

#include "agent/core/recorder.h"
#include "agent/core/session.h"
#include "agent/inject/contract.h"
#include "agent/inject/threads.h"
#include "common/wire/functions.h"

namespace heaptap::agent {

// Arguments as the stub has stored them, the first one last.
struct Arguments {
  uintptr_t third;
  uintptr_t second;
  uintptr_t first;
};

namespace {

using wire::Function;
using wire::RecordKind;

#define HEAPTAP_HOOK(function, symbol) Function::function,
constexpr Function kFunctions[] = {HEAPTAP_INJECTED_HOOKS(HEAPTAP_HOOK)};
#undef HEAPTAP_HOOK
static_assert(sizeof(kFunctions) / sizeof(*kFunctions) == wire::kInjectedHooks);

// Whether the thread is in a function that the agent has called. If its frame was left by longjmp, it isn't.
inline bool is_inside(ThreadAnchor& anchor, const CallSite& site) {
  if (anchor.inside_real == 0) [[likely]]
    return false;
  if (site.bottom() < anchor.inside_real) return true;
  anchor.inside_real = 0;
  return false;
}

inline bool is_allocators(uintptr_t return_address) {
  const wire::InjectedAgent& agent = heaptap_injected_agent;
  return return_address - agent.allocator_start < agent.allocator_end - agent.allocator_start;
}

inline bool reallocates(Function function) {
  return function == Function::kRealloc || function == Function::kReallocarray;
}

inline uint64_t size_of(Function function, const Arguments& arguments) {
  switch (function) {
    case Function::kCalloc:
      return arguments.first * arguments.second;
    case Function::kReallocarray:
      return arguments.second * arguments.third;
    case Function::kRealloc:
    case Function::kAlignedAlloc:
    case Function::kMemalign:
      return arguments.second;
    case Function::kPosixMemalign:
      return arguments.third;
    default:
      return arguments.first;
  }
}

inline uintptr_t block_of(Function function, const Arguments& arguments, uintptr_t result) {
  if (function != Function::kPosixMemalign) return result;
  if (static_cast<uint32_t>(result) != 0) return 0;  // an int: an error's number
  return *reinterpret_cast<const volatile uintptr_t*>(arguments.first);
}

// A thread within the agent keeps the injector from taking it out.
inline void enter(ThreadEntry& thread) {
  ++thread.is_within;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
}
inline void leave(ThreadEntry& thread) {
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  --thread.is_within;
}

}  // namespace

// Null: the stub goes on in the function. Else it calls it, and then heaptap_injected_after().
extern "C" __attribute__((visibility("hidden"), used)) ThreadEntry* heaptap_injected_before(const uintptr_t* slot,
                                                                                            const Arguments* arguments,
                                                                                            unsigned hook) {
  const CallSite site(slot);
  if (!is_recording()) return nullptr;
  ThreadEntry* const thread = this_thread();
  if (thread == nullptr) [[unlikely]] {
    g_session.log->lost_events.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  ThreadAnchor& anchor = thread->anchor;
  if (is_inside(anchor, site) || is_allocators(site.return_address())) return nullptr;
  enter(*thread);
  const Function function = kFunctions[hook];
  const bool is_release = function == Function::kFree;
  if ((is_release || reallocates(function)) && arguments->first != 0)
    record_release(anchor, function, arguments->first, site);
  if (is_release) {
    leave(*thread);
    return nullptr;
  }
  anchor.inside_real = site.bottom();
  return thread;
}

extern "C" __attribute__((visibility("hidden"), used)) void heaptap_injected_after(const uintptr_t* slot,
                                                                                   const Arguments* arguments,
                                                                                   unsigned hook, uintptr_t result,
                                                                                   ThreadEntry* thread) {
  const CallSite site(slot);
  const Function function = kFunctions[hook];
  ThreadAnchor& anchor = thread->anchor;
  anchor.inside_real = 0;
  const uintptr_t block = block_of(function, *arguments, result);
  if (!is_recording()) {
  } else if (block != 0) {
    record_allocation(anchor, function, block, size_of(function, *arguments), site);
  } else if (reallocates(function) && arguments->first != 0 && size_of(function, *arguments) != 0) {
    record(anchor, {RecordKind::kUndo, function, arguments->first, 0, 0}, site);
  }
  leave(*thread);
}

}  // namespace heaptap::agent
