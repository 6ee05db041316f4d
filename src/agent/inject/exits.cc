#include "agent/inject/exits.h"

#include <atomic>

#include "agent/core/exit_request.h"
#include "agent/inject/contract.h"

namespace heaptap::agent {
namespace {

// The outermost call of exit.
struct FirstExit {
  std::atomic<uint32_t> thread;  // 0: there was none
  wire::ExitNotice notice;
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
          .registers = reinterpret_cast<uintptr_t>(call.registers)};
}

bool is_librarys(uintptr_t address) {
  const wire::InjectedSpan& library = heaptap_injected_agent.library;
  return address - library.begin < library.end - library.begin;
}

bool was_given_up() {
  return g_session.log->exit_handshake.turn.load(std::memory_order_relaxed) ==
         static_cast<uint32_t>(wire::ExitTurn::kGivenUp);
}

// Handlers may call exit again.
void begin_exit(const ExitCall& call) {
  uint32_t none = 0;
  if (!g_exit.thread.compare_exchange_strong(none, thread_id(), std::memory_order_acq_rel)) return;
  const bool has_returned = is_librarys(call.return_address);
  g_exit.notice = notice_of(call, has_returned ? wire::ExitKind::kReturn : wire::ExitKind::kExit);
  for (unsigned i = 0; i < kExitRegisters; ++i) g_exit.registers[i] = call.registers[i];
  g_exit.notice.registers = has_returned ? 0 : reinterpret_cast<uintptr_t>(g_exit.registers);
  if (heaptap_injected_agent.has_destructors != 0) offer_scan_before_handlers(call.bottom, g_exit.notice.registers);
}

void end(const ExitCall& call) {
  const bool has_begun = g_exit.thread.load(std::memory_order_acquire) == thread_id();
  const bool is_end = offer_scan(has_begun ? g_exit.notice : notice_of(call, wire::ExitKind::kDirectExit));
  if (!is_end) g_exit.thread.store(0, std::memory_order_release);
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
