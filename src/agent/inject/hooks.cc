// Hooks of the injected agent: before and after each function of its table. The stubs (common/arch/*/injected_hooks.S) come from the
// function's patched entry, keep all registers, and call these. As in the preloaded agent a release is recorded before it happens, an
// allocation after.
//
// A hook may wait for a function's return only if no exception passes it: nobody finds the agent's frame. So operator new isn't called, but
// malloc, which is what it is while there is memory; when that fails, the function itself goes on as if there had been no hook.
//
// Functions that map memory are called by the hook itself, before the stub would: an event may have to be open while they run. The stub then
// calls heaptap_injected_result, which returns what they returned. So it is with those about the process, which are no events: also in a
// forked child, which has a copy of the agent, and of its handlers. Before those that end the process, which don't return, it calls
// heaptap_injected_exit, where its caller's registers are as they were.
#include <stddef.h>
#include <stdint.h>

#include "agent/core/mapping_calls.h"
#include "agent/core/recorder.h"
#include "agent/core/session.h"
#include "agent/inject/contract.h"
#include "agent/inject/exits.h"
#include "agent/inject/process_calls.h"
#include "agent/inject/threads.h"
#include "common/wire/functions.h"

extern "C" __attribute__((visibility("hidden"))) void heaptap_injected_result();
extern "C" __attribute__((visibility("hidden"))) void heaptap_injected_exit();

namespace heaptap::agent {

// What the stub keeps on the stack, as it draws it.
struct HookFrame {
  uintptr_t target;  // what the stub jumps to, or calls
  uintptr_t hook;
  ThreadEntry* thread;
  uintptr_t inverted_result;
  uintptr_t own_first;  // arguments of the function itself, where another one is called
  uintptr_t own_second;
  uintptr_t last_arguments[4];  // the sixth one first
  uintptr_t second;
  uintptr_t first;
  uintptr_t frame_pointer;
  uintptr_t return_address;
};
static_assert(sizeof(void*) != 8 || offsetof(HookFrame, frame_pointer) == 96, "as the stub has it");

namespace {

using wire::Function;
using wire::InjectedFunction;
using wire::InjectedWay;
using wire::RecordKind;

constexpr size_t kThird = 3;  // of last_arguments
constexpr size_t kFourth = 2;
constexpr size_t kFifth = 1;
constexpr size_t kSixth = 0;

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

inline bool maps_for_itself(uintptr_t return_address) {
  const wire::InjectedAgent& agent = heaptap_injected_agent;
  for (size_t i = 0; i < agent.mapping_owner_count; ++i) {
    if (agent.mapping_owners[i].holds(return_address)) return true;
  }
  return false;
}

inline Function function_of(const InjectedFunction& hooked) { return static_cast<Function>(hooked.function); }

// The hooked function whose code this is. Null: none.
inline const InjectedFunction* function_at(uintptr_t address) {
  const wire::InjectedAgent& agent = heaptap_injected_agent;
  bool is_near = false;
  for (size_t i = 0; i < agent.span_count; ++i) is_near |= agent.spans[i].holds(address);
  if (!is_near) [[likely]]
    return nullptr;
  size_t from = 0;
  size_t to = agent.function_count;
  while (from < to) {
    const size_t middle = (from + to) / 2;
    if (address >= agent.functions[middle].end) {
      from = middle + 1;
    } else {
      to = middle;
    }
  }
  return from < agent.function_count && address >= agent.functions[from].begin ? &agent.functions[from] : nullptr;
}

inline bool is_new(const InjectedFunction& hooked) {
  const wire::FunctionFacts& facts = wire::facts_of(function_of(hooked));
  return facts.role == wire::Role::kAllocate && facts.family != wire::Family::kMalloc;
}

inline bool reallocates(Function function) {
  return function == Function::kRealloc || function == Function::kReallocarray;
}

inline uint64_t size_of(Function function, const HookFrame& frame) {
  switch (function) {
    case Function::kCalloc:
      return frame.first * frame.second;
    case Function::kReallocarray:
      return frame.second * frame.last_arguments[kThird];
    case Function::kRealloc:
    case Function::kAlignedAlloc:
    case Function::kMemalign:
      return frame.second;
    case Function::kPosixMemalign:
      return frame.last_arguments[kThird];
    default:
      return frame.first;
  }
}

inline uintptr_t block_of(Function function, const HookFrame& frame) {
  const uintptr_t result = ~frame.inverted_result;
  if (function != Function::kPosixMemalign) return result;
  if (static_cast<uint32_t>(result) != 0) return 0;  // an int: an error's number
  return *reinterpret_cast<const volatile uintptr_t*>(frame.first);
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

// Functions for releases go over into each other by jumps: then all have the first one's caller, and block.
inline bool goes_on(const ThreadEntry& thread, const HookFrame& frame) {
  const LastRelease& last = thread.last_release;
  return last.block == frame.first && last.frame == reinterpret_cast<uintptr_t>(&frame) &&
         last.return_address == frame.return_address && last.hook != frame.hook;
}

inline void record_release_of(ThreadEntry& thread, const HookFrame& frame, Function function, const CallSite& site) {
  if (frame.first != 0) record_release(thread.anchor, function, frame.first, site);
}

// A call by another hooked function's code is a step of that one. But operator new without memory throws, and the exception is released
// from there; and if malloc gave none at first, the one that is called from there counts as operator new.
inline bool is_step(const ThreadEntry& thread, const InjectedFunction& hooked, const CallSite& site) {
  const InjectedFunction* const caller = function_at(site.return_address() - 1);
  if (caller == nullptr) [[likely]]
    return false;
  if (!is_new(*caller)) return true;
  return hooked.way != InjectedWay::kRelease && thread.failed == 0;
}

// What is called in place of the function, with arguments of its own.
inline void set_call(HookFrame& frame, const InjectedFunction& hooked) {
  if (hooked.call == 0) return;
  frame.target = hooked.call;
  frame.own_first = frame.first;
  frame.own_second = frame.second;
  const uintptr_t alignment = frame.second < sizeof(void*) ? sizeof(void*) : frame.second;
  const uintptr_t size = frame.first == 0 ? 1 : frame.first;
  if (hooked.way == InjectedWay::kStandardNew) frame.first = size;
  if (hooked.way == InjectedWay::kStandardAlignedNew) {
    const uintptr_t rounded = (size + alignment - 1) & ~(alignment - 1);
    frame.first = alignment;
    frame.second = rounded >= size ? rounded : UINTPTR_MAX;
  }
  if (hooked.way == InjectedWay::kAlignedNew) {
    frame.first = frame.second;
    frame.second = frame.own_first;
  }
}

inline void restore_arguments(HookFrame& frame, const InjectedFunction& hooked) {
  if (hooked.call == 0) return;
  frame.first = frame.own_first;
  frame.second = frame.own_second;
}

// The function's result.
uintptr_t call_mapping(ThreadAnchor& anchor, const InjectedFunction& hooked, const HookFrame& frame,
                       const CallSite& site) {
  using Mapping = uintptr_t(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);
  auto* const function = reinterpret_cast<Mapping*>(hooked.original);
  const uintptr_t(&rest)[4] = frame.last_arguments;
  const auto call = [&] {
    return function(frame.first, frame.second, rest[kThird], rest[kFourth], rest[kFifth], rest[kSixth]);
  };
  const auto call_for_memory = [&] { return reinterpret_cast<void*>(call()); };
  const auto call_for_status = [&] { return static_cast<int>(call()); };
  const auto observes = [] { return is_recording(); };
  auto* const start = reinterpret_cast<void*>(frame.first);
  const auto number = [](uintptr_t argument) { return static_cast<int>(argument); };
  switch (function_of(hooked)) {
    case Function::kMunmap:
      return static_cast<uintptr_t>(unmap_memory(anchor, start, frame.second, site, observes, call_for_status));
    case Function::kMremap:
      return reinterpret_cast<uintptr_t>(remap_memory(anchor, start, frame.second, rest[kThird], number(rest[kFourth]),
                                                      reinterpret_cast<const void*>(rest[kFifth]), site, observes,
                                                      call_for_memory));
    case Function::kMprotect:
    case Function::kPkeyMprotect:
      return static_cast<uintptr_t>(protect_memory(anchor, function_of(hooked), start, frame.second,
                                                   number(rest[kThird]), site, observes, call_for_status));
    default:
      return reinterpret_cast<uintptr_t>(map_memory(anchor, function_of(hooked), start, frame.second,
                                                    number(rest[kThird]), number(rest[kFourth]), site, observes,
                                                    call_for_memory));
  }
}

// All threads count together: one may have no entry, and a forked child none of its own.
ThreadEntry* call_about_process(const InjectedFunction& hooked, HookFrame& frame) {
  const uintptr_t(&rest)[4] = frame.last_arguments;
  const uintptr_t arguments[] = {frame.first, frame.second, rest[kThird], rest[kFourth], rest[kFifth], rest[kSixth]};
  if (!concerns_agent(hooked, arguments)) return nullptr;
  ThreadEntry& all = g_threads[kThreadEntries];
  all.number = static_cast<uint32_t>(g_session.process);
  __atomic_fetch_add(&all.is_within, 1, __ATOMIC_SEQ_CST);
  frame.own_first = make_process_call(hooked, arguments);
  frame.target = reinterpret_cast<uintptr_t>(&heaptap_injected_result);
  return &all;
}

}  // namespace
extern "C" __attribute__((visibility("hidden"), used)) void heaptap_injected_note_exit(const HookFrame* frame,
                                                                                       const uintptr_t* registers) {
  const CallSite site(&frame->return_address);
  note_exit({.way = heaptap_injected_agent.functions[frame->hook].way,
             .status = frame->first,
             .return_address = site.return_address(),
             .bottom = site.bottom(),
             .registers = registers});
}

// Null: the stub goes on in the function. Else it calls the target, and then heaptap_injected_after().
extern "C" __attribute__((visibility("hidden"), used)) ThreadEntry* heaptap_injected_before(HookFrame* frame) {
  const InjectedFunction& hooked = heaptap_injected_agent.functions[frame->hook];
  frame->target = hooked.original;
  if (wire::is_about_process(hooked.way)) [[unlikely]]
    return call_about_process(hooked, *frame);
  const CallSite site(&frame->return_address);
  if (!is_recording()) return nullptr;
  ThreadEntry* const thread = this_thread();
  if (thread == nullptr) [[unlikely]] {
    g_session.log->lost_events.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  ThreadAnchor& anchor = thread->anchor;
  if (is_inside(anchor, site) || is_allocators(site.return_address()) || is_step(*thread, hooked, site)) return nullptr;
  const Function function = function_of(hooked);
  if (hooked.way == InjectedWay::kRelease) {
    if (goes_on(*thread, *frame)) return nullptr;
    enter(*thread);
    record_release_of(*thread, *frame, function, site);
    thread->last_release = {reinterpret_cast<uintptr_t>(frame), frame->return_address, frame->first, frame->hook};
    leave(*thread);
    return nullptr;
  }
  if (hooked.way >= InjectedWay::kMapping) {
    if (wire::ends_process(hooked.way)) {
      enter(*thread);
      frame->target = reinterpret_cast<uintptr_t>(&heaptap_injected_exit);
      return thread;
    }
    if (maps_for_itself(site.return_address())) return nullptr;
    enter(*thread);
    frame->own_first = call_mapping(anchor, hooked, *frame, site);
    frame->target = reinterpret_cast<uintptr_t>(&heaptap_injected_result);
    return thread;
  }
  if (is_new(hooked) && hooked.call == 0) [[unlikely]]
    return nullptr;  // it may throw
  enter(*thread);
  if (reallocates(function)) record_release_of(*thread, *frame, function, site);
  anchor.inside_real = site.bottom();
  set_call(*frame, hooked);
  return thread;
}

// Not 0: the function itself goes on, with the stub's target.
extern "C" __attribute__((visibility("hidden"), used)) unsigned heaptap_injected_after(HookFrame* frame) {
  const InjectedFunction& hooked = heaptap_injected_agent.functions[frame->hook];
  ThreadEntry* const thread = frame->thread;
  if (wire::is_about_process(hooked.way)) {
    __atomic_fetch_sub(&thread->is_within, 1, __ATOMIC_SEQ_CST);
    return 0;
  }
  if (hooked.way >= InjectedWay::kMapping) {
    leave(*thread);
    if (!wire::ends_process(hooked.way)) return 0;
    frame->target = hooked.original;
    return 1;
  }
  const CallSite site(&frame->return_address);
  ThreadAnchor& anchor = thread->anchor;
  Function function = function_of(hooked);
  restore_arguments(*frame, hooked);
  anchor.inside_real = 0;
  const uintptr_t block = block_of(function, *frame);
  const bool goes_back = block == 0 && hooked.call != 0;
  if (!is_recording()) {
  } else if (block != 0) {
    const InjectedFunction* const caller = thread->failed != 0 ? function_at(site.return_address() - 1) : nullptr;
    if (caller != nullptr && is_new(*caller)) {
      function = static_cast<Function>(thread->failed);
      thread->failed = 0;
    }
    record_allocation(anchor, function, block, size_of(function_of(hooked), *frame), site);
  } else if (reallocates(function) && frame->first != 0 && size_of(function, *frame) != 0) {
    record(anchor, {RecordKind::kUndo, function, frame->first, 0, 0}, site);
  }
  if (goes_back) {
    frame->target = hooked.original;
    thread->failed = hooked.function;
  }
  leave(*thread);
  return goes_back ? 1 : 0;
}

}  // namespace heaptap::agent
