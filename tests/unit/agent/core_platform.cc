#include "core_platform.h"

#include "agent/core/kernel.h"
#include "agent/core/platform.h"
#include "agent/core/session.h"

namespace heaptap {
namespace {
const log::LogMemory* g_log = nullptr;
thread_local agent::ThreadAnchor g_anchor{};
}  // namespace

void test::give_log(const log::LogMemory& log) { g_log = &log; }

test::KeptSession::~KeptSession() {
  agent::Session& session = agent::g_session;
  session.layout.log = layout_;
  session.log = log_;
  session.process = process_;
  session.flags = flags_;
  agent::g_session_page.state.store(state_);
}

namespace agent::platform {

void for_each_module(void (*)(void*, const ModuleFacts&), void*) {}
bool visit_module_at(uintptr_t, void (*)(void*, const ModuleFacts&), void*) { return false; }
uint64_t module_changes() { return 0; }
void note_first_process() {}
bool has_log_source() { return g_log != nullptr; }
// The collector's own mapping: what it reads is then known to be what the threads wrote, to whom watches both.
LogMemory get_log(wire::StartReason) { return {LogMemory::Answer::kGiven, &g_log->header(), g_log->bytes()}; }
void note_session(wire::StartReason, wire::LogHeader*) {}
uint32_t filters_at_start() { return UINT32_MAX; }
CodeExtent own_code() { return {0, 0}; }
CodeExtent loader_code() { return {0, 0}; }
void note_loader_call() {}
uintptr_t initial_stack_top() { return 0; }
ThreadAnchor& thread_anchor() { return g_anchor; }
uintptr_t thread_control_block() { return 0; }
uint32_t thread_number_in_block() { return 0; }
bool makes_calls() { return true; }
bool is_own_process() { return kernel::process_id() == g_session.process; }
bool may_wait_at_end() { return may_call(); }
long wait_at_end(const std::atomic<uint32_t>& word, uint32_t value, uint32_t milliseconds) {
  return kernel::futex_wait(&word, value, milliseconds);
}
void wake_at_end(const std::atomic<uint32_t>& word) { kernel::futex_wake(&word); }
uint32_t exit_patience_ms() { return wire::kExitPatienceMs; }

}  // namespace agent::platform
}  // namespace heaptap
