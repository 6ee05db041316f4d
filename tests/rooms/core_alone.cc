// The agent's core in a program that has nothing else: no C library, no loader, no preloaded library. That it links says that
// the core needs what agent/core/platform.h names and no more; that it runs, that a core without a log leaves all alone.
#include "agent/core/platform.h"
#include "agent/core/recorder.h"
#include "agent/core/session.h"

namespace heaptap::agent::platform {
namespace {
constinit ThreadAnchor g_anchor{};
}

void for_each_module(void (*)(void*, const ModuleFacts&), void*) {}
bool visit_module_at(uintptr_t, void (*)(void*, const ModuleFacts&), void*) { return false; }
uint64_t module_changes() { return 0; }
void note_first_process() {}
bool has_log_source() { return false; }
LogMemory get_log(wire::StartReason) { return {LogMemory::Answer::kRefused, nullptr, 0}; }
void note_session(wire::StartReason, wire::LogHeader*) {}
uint32_t filters_at_start() { return 0; }
CodeExtent own_code() { return {0, 0}; }
CodeExtent loader_code() { return {0, 0}; }
void note_loader_call() {}
uintptr_t initial_stack_top() { return 0; }
ThreadAnchor& thread_anchor() { return g_anchor; }
uintptr_t thread_control_block() { return 0; }
uint32_t thread_number_in_block() { return 0; }
bool makes_calls() { return true; }
bool is_own_process() { return true; }
bool may_wait_at_end() { return false; }
long wait_at_end(const std::atomic<uint32_t>&, uint32_t, uint32_t) { return 0; }
void wake_at_end(const std::atomic<uint32_t>&) {}
uint32_t exit_patience_ms() { return 0; }

}  // namespace heaptap::agent::platform

extern "C" [[noreturn]] void run_alone() {
  const bool records = heaptap::agent::is_recording();
  const long status = records || heaptap::agent::g_session_page.state != heaptap::agent::SessionState::kOff ? 1 : 0;
  for (;;) heaptap::agent::kernel::system_call(__NR_exit_group, status);
}

asm(".globl _start\n_start:\n  xorl %ebp, %ebp\n  andq $-16, %rsp\n  call run_alone\n");
