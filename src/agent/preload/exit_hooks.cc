// Exit hooks: exports through which the agent notices the program's end. Each behaves for the program as without the
// agent; none is an event. Those in assembly (arch/*/ending.S) ask the functions heaptap_choose_… here which function
// to continue in.
#include <stddef.h>
#include <stdint.h>

#include "agent/core/exit_request.h"
#include "agent/core/exit_signals.h"
#include "agent/core/kernel.h"
#include "agent/core/log_areas.h"
#include "agent/core/pages.h"
#include "agent/core/streams.h"
#include "agent/core/string.h"
#include "agent/preload/call_site.h"
#include "agent/preload/limit_hooks.h"
#include "agent/preload/line.h"
#include "agent/preload/preload.h"
#include "agent/preload/real_functions.h"

#define HEAPTAP_FOR_ASSEMBLY extern "C" __attribute__((visibility("hidden"), used))

extern "C" {
__attribute__((visibility("hidden"))) void heaptap_enter_main();
__attribute__((visibility("hidden"))) void* heaptap_main = nullptr;       // the program's
__attribute__((visibility("hidden"))) uintptr_t heaptap_main_slot = 0;    // the stack pointer when it was called
__attribute__((visibility("hidden"))) uintptr_t heaptap_main_return = 0;  // its return address
}

namespace heaptap::agent {
namespace {

// For the outermost exit or quick_exit of this thread: the stack below it is dead. 0: none.
__attribute__((tls_model("initial-exec"))) __thread uintptr_t g_exit_slot;

// Callee-saved registers of the caller of the outermost exit: possibly its variables. The scan finds them here, as in
// all thread-local memory.
using arch::native::kPassedRegisters;
using arch::native::kPreservedRegisters;
__attribute__((tls_model("initial-exec"))) __thread volatile uintptr_t g_exit_registers[kPreservedRegisters];

// The argument of quick_exit; its handlers don't get it.
__attribute__((tls_model("initial-exec"))) __thread uint32_t g_exit_status;

void note_registers(const uintptr_t* arguments) {
  for (size_t i = 0; i < kPreservedRegisters; ++i) g_exit_registers[i] = arguments[kPassedRegisters + i];
}

// For a function in between: copies of registers are right below it.
uintptr_t return_slot(const uintptr_t* arguments) {
  return reinterpret_cast<uintptr_t>(arguments + kPassedRegisters + kPreservedRegisters);
}

// Children that share the parent's memory come here, too, some of them with thread-local memory not made by libc. False:
// not the outermost one.
bool note_exit(const uintptr_t* arguments) {
  if (!watches_exit() || kernel::process_id() != g_session.process || g_exit_slot != 0) return false;
  g_exit_slot = return_slot(arguments);
  g_exit_status = wire::exit_with(arguments[0]);
  note_registers(arguments);
  return true;
}

void offer(wire::ExitKind kind, uintptr_t live_sp, uint32_t status) {
  offer_scan(
      {.kind = kind, .thread_id = 0, .live_sp = live_sp, .interrupted_sp = live_sp, .signal = 0, .status = status});
}

// No code of libc runs between here and the end, so the registers stay saved in the live part of the stack. No
// thread-local memory is accessed: a thread not created by libc may have none.
void offer_direct_exit(const uintptr_t* arguments, uintptr_t status) {
  offer(wire::ExitKind::kDirectExit, reinterpret_cast<uintptr_t>(arguments + kPassedRegisters),
        wire::exit_with(status));
}

// libc calls main and, with what it returns, exit.
bool main_has_returned() {
  if (heaptap_main_slot == 0 || static_cast<int>(kernel::thread_id()) != g_session.process) return false;
  return arch::native::has_returned(heaptap_main_slot, heaptap_main_return);
}

// The last of the exit handlers, since it was registered first: the status is that of the last exit, possibly called by
// a handler.
__attribute__((noinline)) void at_exit(int status, void*) {
  if (!watches_exit()) return;
  const uint32_t known = wire::exit_with(static_cast<uintptr_t>(status));
  if (main_has_returned()) {
    offer(wire::ExitKind::kReturn, arch::native::caller_sp(heaptap_main_slot), known);
  } else {
    offer(wire::ExitKind::kExit, g_exit_slot != 0 ? g_exit_slot : HEAPTAP_CALL_SITE().bottom(), known);
  }
}

// Of static objects: a C++ library was loaded with the program. Others are spared a second scan.
bool has_destructors() { return real<void*(size_t)>(wire::Function::kNew) != nullptr; }

// The first of the exit handlers that were registered before main began. Those of static objects made in a function come
// earlier, so what they held isn't seen.
void at_exit_start(int, void*) {
  if (main_has_returned()) offer_scan_before_handlers(arch::native::caller_sp(heaptap_main_slot));
}

__attribute__((noinline)) void at_quick_exit() {
  if (watches_exit()) {
    offer(wire::ExitKind::kQuickExit, g_exit_slot != 0 ? g_exit_slot : HEAPTAP_CALL_SITE().bottom(), g_exit_status);
  }
}

// Whether the exit is to be handled, read where a session can start.
bool wants_exit() { return is_recording() && watches_exit(); }

[[noreturn]] void end_without_libc(int status) {
  for (;;) kernel::call_for_program(__NR_exit_group, status);
}

// For a missing real function, which is impossible if its name was bound: fails as the function does.
long fail() { return -1; }

template <typename Real>
void* or_fail(Real* real) {
  return real != nullptr ? reinterpret_cast<void*>(real) : reinterpret_cast<void*>(&fail);
}

template <typename Real>
void* or_end(Real* real) {
  return real != nullptr ? reinterpret_cast<void*>(real) : reinterpret_cast<void*>(&end_without_libc);
}

// The kernel keeps one per thread, the last one set.
void note_alternate_stack(const wire::StackArea& now, uint64_t before) {
  if (before != now.begin) forget_stack(before);
  note_stack(now);
}

// stack_t and the part of ucontext_t before the registers.
struct Stack {
  uintptr_t start;
  int flags;
  size_t bytes;
};
struct Context {
  unsigned long flags;
  Context* link;
  Stack stack;
};

// Of a function's arguments, those behind the last one in a register are on the stack, which begins behind the registers.
uintptr_t argument(const uintptr_t* arguments, size_t index) {
  return arguments[index < kPassedRegisters ? index : index + kPreservedRegisters];
}

// Calls by number that unmap memory.
void note_memory_call(const uintptr_t* arguments) {
  constexpr uintptr_t kRead = 1;
  constexpr uintptr_t kFixed = 0x10;
  if (g_session_page.state.load(std::memory_order_relaxed) != SessionState::kRecording) return;
  const bool goes =
      arguments[0] == __NR_munmap || arguments[0] == __NR_mremap ||
      ((arguments[0] == __NR_mprotect || arguments[0] == __NR_pkey_mprotect) && (arguments[3] & kRead) == 0) ||
      (arguments[0] == arch::native::kMapCall && (argument(arguments, 4) & kFixed) != 0);
  if (!goes || kernel::process_id() != g_session.process) return;
  const auto forget = [arguments](uintptr_t begin, uintptr_t bytes) {
    forget_stack_memory(begin, begin + whole_pages(bytes), reinterpret_cast<uintptr_t>(arguments));
  };
  forget(arguments[1], arguments[2]);
  constexpr uintptr_t kMovesTo = 2;  // MREMAP_FIXED
  if (arguments[0] == __NR_mremap && (argument(arguments, 4) & kMovesTo) != 0)
    forget(argument(arguments, 5), arguments[3]);
}

// Its argument may be anything: a program that probes for the call passes unreadable or too little memory.
void note_clone3(uintptr_t argument, uintptr_t bytes) {
  constexpr uintptr_t kShortest = 64;  // CLONE_ARGS_SIZE_VER0
  if (bytes < kShortest || !kernel::is_readable(argument)) return;
  uint64_t flags = 0;
  copy_bytes(&flags, reinterpret_cast<const void*>(argument), sizeof(flags));  // it may be unaligned
  note_namespaces(flags);
}

}  // namespace
}  // namespace heaptap::agent

using namespace heaptap::agent;

// main, argc, argv, init, fini, rtld_fini; stack_end lies on the stack. Before all that the program's own objects register.
HEAPTAP_FOR_ASSEMBLY void* heaptap_choose_start(uintptr_t* arguments) {
  read_environment();
  auto* start = reinterpret_cast<void*>(real<void()>(Other::kStartMain));
  if (start == nullptr) end_without_libc(127);
  if (!wants_exit()) return start;
  if (auto* call = real<int(void (*)(int, void*), void*)>(Other::kOnExit)) call(&at_exit, nullptr);
  if (auto* call = real<int(void (*)(), void*)>(Other::kAtQuickExit)) call(&at_quick_exit, nullptr);
  heaptap_main = reinterpret_cast<void*>(arguments[0]);
  arguments[0] = reinterpret_cast<uintptr_t>(&heaptap_enter_main);
  return start;
}

// By now all objects of namespace scope of the program and its libraries have registered.
HEAPTAP_FOR_ASSEMBLY void heaptap_before_main() {
  if (!watches_exit() || !has_destructors()) return;
  if (auto* call = real<int(void (*)(int, void*), void*)>(Other::kOnExit)) call(&at_exit_start, nullptr);
}

HEAPTAP_FOR_ASSEMBLY void* heaptap_choose_makecontext(const uintptr_t* arguments) {
  const auto* context = reinterpret_cast<const Context*>(arguments[0]);
  note_stack({.begin = context->stack.start,
              .end = context->stack.start + context->stack.bytes,
              .context = arguments[0],
              .thread_id = 0,
              .kind = heaptap::wire::RootKind::kContextStack});
  return or_fail(real<void()>(Other::kMakeContext));
}

// Calls that programs make by number because libc has no function for them.
HEAPTAP_FOR_ASSEMBLY void* heaptap_choose_syscall(const uintptr_t* arguments) {
  if (void* call = choose_restricting_call(arguments)) return call;
  if (arguments[0] == __NR_rt_sigaction) return choose_action_by_number();
  if (arguments[0] == __NR_exit_group) offer_direct_exit(arguments, arguments[1]);
  note_memory_call(arguments);
  if (arguments[0] == __NR_clone || arguments[0] == __NR_unshare) note_namespaces(arguments[1]);
  if (arguments[0] == __NR_clone3) note_clone3(arguments[1], arguments[2]);
  return or_fail(real<long()>(Other::kSystemCall));
}

HEAPTAP_FOR_ASSEMBLY void* heaptap_choose_unshare(const uintptr_t* arguments) {
  note_namespaces(arguments[0]);
  return or_fail(real<int(int)>(Other::kUnshare));
}

HEAPTAP_FOR_ASSEMBLY void* heaptap_choose_setns(const uintptr_t* arguments) {
  if (arguments[1] == 0) keep_line();  // the descriptor determines the namespace
  note_namespaces(arguments[1]);
  return or_fail(real<int(int, int)>(Other::kSetNamespace));
}

HEAPTAP_FOR_ASSEMBLY void* heaptap_choose_clone(const uintptr_t* arguments) {
  note_namespaces(arguments[2]);
  return or_fail(real<int()>(Other::kClone));
}

HEAPTAP_FOR_ASSEMBLY void* heaptap_choose_exit(const uintptr_t* arguments) {
  if (note_exit(arguments) && has_destructors()) offer_scan_before_handlers(g_exit_slot);
  return or_end(real<void(int)>(Other::kExit));
}

HEAPTAP_FOR_ASSEMBLY void* heaptap_choose_quick_exit(const uintptr_t* arguments) {
  note_exit(arguments);
  return or_end(real<void(int)>(Other::kQuickExit));
}

HEAPTAP_FOR_ASSEMBLY void* heaptap_choose_direct_exit(const uintptr_t* arguments) {
  offer_direct_exit(arguments, arguments[0]);
  return or_end(real<void(int)>(Other::kDirectExit));
}

HEAPTAP_EXPORT int sigaltstack(const Stack* wanted, Stack* old) {
  constexpr int kDisabled = 2;
  auto* call = real<int(const Stack*, Stack*)>(Other::kAlternateStack);
  if (call == nullptr) return -1;
  Stack before{};
  const Stack now = wanted != nullptr ? *wanted : Stack{};
  const int status = call(wanted, &before);
  if (status != 0) return status;
  if (old != nullptr) *old = before;
  if (wanted == nullptr) return 0;
  const bool off = (now.flags & kDisabled) != 0;
  note_alternate_stack({.begin = off ? 0 : now.start,
                        .end = now.start + now.bytes,
                        .context = 0,
                        .thread_id = thread_id(),
                        .kind = heaptap::wire::RootKind::kAlternateStack},
                       (before.flags & kDisabled) != 0 ? 0 : before.start);
  return 0;
}
