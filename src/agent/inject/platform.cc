// Platform implementation of the injected agent: what the core needs, from what the injector has written into the image. No libc, no
// loader, no thread-local storage. Once a session has begun it makes no system call.
#include "agent/core/platform.h"

#include "agent/core/exit_signals.h"
#include "agent/core/kernel.h"
#include "agent/core/session.h"
#include "agent/inject/contract.h"
#include "agent/inject/threads.h"
#include "common/arch/native.h"

namespace heaptap::agent::platform {
namespace {

// What a thread without an entry gets: it records nothing (see the hooks), so nothing here is ever used.
constinit ThreadAnchor g_no_thread{};

ModuleFacts facts_of(const wire::InjectedModule& module) {
  ModuleFacts facts{};
  facts.bias = module.bias;
  facts.start = module.start;
  facts.end = module.end;
  facts.unwind_header = module.unwind_header;
  facts.tables_start = module.tables_start;
  facts.tables_end = module.tables_end;
  facts.entry = module.entry;
  facts.path = module.path;
  facts.build_id = module.build_id;
  facts.build_id_bytes = module.build_id_bytes;
  facts.is_main = module.is_main != 0;
  facts.is_vdso = module.is_vdso != 0;
  facts.is_go = module.is_go != 0;
  return facts;
}

}  // namespace

void for_each_module(void (*visit)(void*, const ModuleFacts&), void* context) {
  for (uint64_t i = 0; i < heaptap_injected_agent.module_count; ++i)
    visit(context, facts_of(heaptap_injected_agent.modules[i]));
}

// Objects that are loaded later aren't known.
bool visit_module_at(uintptr_t, void (*)(void*, const ModuleFacts&), void*) { return false; }
uint64_t module_changes() { return 0; }

bool has_log_source() { return heaptap_injected_agent.log != 0; }
uint32_t filters_at_start() { return 0; }

LogMemory get_log(wire::StartReason reason) {
  if (reason != wire::StartReason::kStart) return {LogMemory::Answer::kRefused, nullptr, 0};
  return {LogMemory::Answer::kGiven, reinterpret_cast<void*>(heaptap_injected_agent.log),
          heaptap_injected_agent.log_bytes};
}

void note_session(wire::StartReason, wire::LogHeader*) {}

CodeExtent own_code() { return {heaptap_injected_agent.code_start, heaptap_injected_agent.code_bytes}; }
CodeExtent loader_code() { return {}; }
void note_loader_call() {}
void note_first_process() {}

uintptr_t initial_stack_top() { return heaptap_injected_agent.first_stack; }

ThreadAnchor& thread_anchor() {
  ThreadEntry* const entry = this_thread();
  return entry != nullptr ? entry->anchor : g_no_thread;
}

uintptr_t thread_control_block() {
  const uintptr_t block = arch::native::thread_pointer();
  return block % sizeof(uintptr_t) == 0 && *reinterpret_cast<const volatile uintptr_t*>(block) == block ? block : 0;
}

uint32_t thread_number_in_block() {
  const uintptr_t block = thread_control_block();
  return block != 0 ? number_in_block(block) : 0;
}

}  // namespace heaptap::agent::platform

namespace heaptap::agent {
namespace {

// A thread of the process runs this once, stopped in the middle of something else, on a stack of the agent's.
wire::InjectedStart begin_session() {
  leave_signals_alone();
  if (platform::thread_number_in_block() != kernel::thread_id()) return wire::InjectedStart::kUnknownLibrary;
  if (!start_session()) return wire::InjectedStart::kNoSession;
  // A leak scan takes nothing in here for the program's.
  note_own_area(reinterpret_cast<const void*>(heaptap_injected_agent.code_start), heaptap_injected_agent.code_bytes);
  g_session.log->is_filtered.store(1, std::memory_order_release);  // from here on: no system calls
  return wire::InjectedStart::kRecording;
}

}  // namespace
}  // namespace heaptap::agent

extern "C" __attribute__((visibility("hidden"), used)) uint64_t heaptap_injected_begin() {
  return static_cast<uint64_t>(heaptap::agent::begin_session());
}
