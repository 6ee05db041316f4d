#include "agent/inject/exits.h"

#include <atomic>

#include "agent/core/exit_request.h"
#include "agent/inject/contract.h"

namespace heaptap::agent {
namespace {

// The outermost call of exit. A child that shares the memory leaves its own here.
struct FirstExit {
  std::atomic<uint32_t> is_changing;
  std::atomic<uint32_t> thread;  // 0: there was none
  wire::ExitNotice notice;
  uintptr_t return_address;
  uintptr_t registers[kExitRegisters];
};
constinit FirstExit g_exit{};

wire::ExitNotice notice_of(const ExitCall& call, wire::ExitKind kind) {
  return {.kind = kind,
          .thread_id = 0,
          .live_sp = call.bottom,
          .interrupted_sp = call.bottom,
          .signal = 0,
          .status = wire::exit_with(call.status),
          .registers = reinterpret_cast<uintptr_t>(call.registers),
          .waits_below = reinterpret_cast<uintptr_t>(call.registers)};
}

bool was_given_up() {
  return g_session.log->exit_handshake.turn.load(std::memory_order_relaxed) ==
         static_cast<uint32_t>(wire::ExitTurn::kGivenUp);
}

// Whether this thread is in the noted call of exit, whose return address stays where it is: exit doesn't return.
bool is_within_exit(uint32_t thread, const ExitCall& call) {
  if (g_exit.thread.load(std::memory_order_acquire) != thread || call.bottom > g_exit.notice.live_sp) return false;
  return reinterpret_cast<const volatile uintptr_t*>(g_exit.notice.live_sp)[-1] == g_exit.return_address;
}

// Handlers may call exit again. The registers count also where main has returned: exit may have been called for the program, by error(3).
void begin_exit(const ExitCall& call) {
  const uint32_t thread = thread_id();
  const uint32_t known = g_exit.thread.load(std::memory_order_acquire);
  if ((known != 0 && known != thread) || is_within_exit(thread, call)) return;
  if (g_exit.is_changing.exchange(1, std::memory_order_acq_rel) != 0) return;
  g_exit.thread.store(0, std::memory_order_release);
  const bool by_library = heaptap_injected_agent.library.holds(call.return_address);
  g_exit.notice = notice_of(call, by_library ? wire::ExitKind::kReturn : wire::ExitKind::kExit);
  g_exit.return_address = call.return_address;
  for (unsigned i = 0; i < kExitRegisters; ++i) g_exit.registers[i] = call.registers[i];
  g_exit.notice.registers = reinterpret_cast<uintptr_t>(g_exit.registers);
  wire::ExitNotice begins = g_exit.notice;
  g_exit.thread.store(thread, std::memory_order_release);
  g_exit.is_changing.store(0, std::memory_order_release);
  if (heaptap_injected_agent.has_destructors == 0) return;
  begins.kind = wire::ExitKind::kExitBegins;
  begins.status = 0;
  offer_scan_before_handlers(begins);
}

void end(const ExitCall& call) {
  wire::ExitNotice notice = notice_of(call, wire::ExitKind::kDirectExit);
  if (is_within_exit(thread_id(), call)) {
    notice.kind = g_exit.notice.kind;
    notice.live_sp = notice.interrupted_sp = g_exit.notice.live_sp;
    notice.registers = g_exit.notice.registers;
  }
  offer_scan(notice);
}

}  // namespace

bool is_anyone_answering() { return __atomic_load_n(&heaptap_injected_agent.answers_ends, __ATOMIC_RELAXED) != 0; }

// Once nobody has answered nothing is offered any more: a child that shares the memory would wait in vain, too.
void note_exit(const ExitCall& call) {
  if (!watches_exit() || !is_anyone_answering() || was_given_up()) return;
  if (call.way == wire::InjectedWay::kExit) {
    begin_exit(call);
  } else {
    end(call);
  }
}

}  // namespace heaptap::agent
