// Platform implementation of the injected agent: what the core needs, from what the injector has written into the image. No libc, no
// loader, no thread-local storage. Once a session has begun it makes no system call of its own.
#include "agent/core/platform.h"

#include <atomic>

#include "agent/core/exit_signals.h"
#include "agent/core/kernel.h"
#include "agent/core/session.h"
#include "agent/core/string.h"
#include "agent/inject/contract.h"
#include "agent/inject/exits.h"
#include "agent/inject/threads.h"
#include "agent/loaded/object_headers.h"
#include "common/arch/native.h"

namespace heaptap::agent::platform {
namespace {

// What a thread without an entry gets, and one in a forked child: it records nothing (see the hooks), so only what it has
// forbidden itself is here.
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

constexpr uint32_t kMaxLater = 2048;  // of more it isn't seen that they are unloaded
// Where objects start that were loaded since. Modules are listed by one thread at a time.
constinit uintptr_t g_later[kMaxLater];
constinit uint32_t g_later_count = 0;
constinit wire::Atomic64 g_changes{0};
constinit std::atomic<bool> g_was_at_work{false};
constinit bool g_makes_calls = true;  // until a session has begun

FindObject* finder() { return reinterpret_cast<FindObject*>(heaptap_injected_agent.find_object); }

// Without a working directory, which takes a system call, a relative name is that of a file alone.
const char* name_of(const dl_phdr_info& object) {
  return object.dlpi_name[0] == '/' ? object.dlpi_name : file_name_of(object.dlpi_name);
}

// By its name where it has no build-id.
bool is_same(const ModuleFacts& facts, const wire::InjectedModule& module) {
  if (facts.start != module.start || facts.build_id_bytes != module.build_id_bytes) return false;
  for (uint32_t i = 0; i < facts.build_id_bytes && i < sizeof(module.build_id); ++i) {
    if (facts.build_id[i] != module.build_id[i]) return false;
  }
  return facts.build_id_bytes != 0 || equal(file_name_of(facts.path), file_name_of(module.path));
}

ModuleFacts later_facts_of(const dl_phdr_info& object) {
  ModuleFacts facts{};
  facts.bias = object.dlpi_addr;
  facts.path = name_of(object);
  read_headers(object, facts);
  facts.entry = 0;
  return facts;
}

const wire::InjectedModule* module_like(const ModuleFacts& facts) {
  for (uint64_t i = 0; i < heaptap_injected_agent.module_count; ++i) {
    if (is_same(facts, heaptap_injected_agent.modules[i])) return &heaptap_injected_agent.modules[i];
  }
  return nullptr;
}

// What the loader has at this address. False: nothing.
bool find_facts(uintptr_t address, ModuleFacts& facts) {
  dl_phdr_info object{};
  if (!find_object_at(finder(), address, object)) return false;
  facts = later_facts_of(object);
  return address >= facts.start && address < facts.end;
}

// Of one that was there at the start: in its place may be another one by now.
bool is_still_loaded(const wire::InjectedModule& module) {
  if (finder() == nullptr || module.is_main != 0 || module.is_vdso != 0) return true;
  ModuleFacts facts{};
  return find_facts(module.start, facts) && is_same(facts, module);
}

void note_later(uintptr_t start) {
  for (uint32_t i = 0; i < g_later_count; ++i) {
    if (g_later[i] == start) return;
  }
  if (g_later_count < kMaxLater) g_later[g_later_count++] = start;
}

}  // namespace

// Those that were there at the start, as long as the loader has them, and those that were found since.
void for_each_module(void (*visit)(void*, const ModuleFacts&), void* context) {
  for (uint64_t i = 0; i < heaptap_injected_agent.module_count; ++i) {
    const wire::InjectedModule& module = heaptap_injected_agent.modules[i];
    if (is_still_loaded(module)) visit(context, facts_of(module));
  }
  ModuleFacts facts{};
  for (uint32_t i = 0; i < g_later_count; ++i) {
    if (find_facts(g_later[i], facts) && module_like(facts) == nullptr) visit(context, facts);
  }
}

bool visit_module_at(uintptr_t address, void (*visit)(void*, const ModuleFacts&), void* context) {
  ModuleFacts facts{};
  if (!find_facts(address, facts)) return false;
  const wire::InjectedModule* const known = module_like(facts);
  if (known == nullptr) note_later(facts.start);
  visit(context, known != nullptr ? facts_of(*known) : facts);
  return true;
}

// Counts as changed while the loader is at work, and once more after that.
uint64_t module_changes() {
  const auto* const loader = reinterpret_cast<const r_debug*>(heaptap_injected_agent.loader_state);
  if (loader == nullptr || finder() == nullptr) return 0;
  const bool is_at_work = __atomic_load_n(&loader->r_state, __ATOMIC_RELAXED) != r_debug::RT_CONSISTENT;
  const bool was_at_work = g_was_at_work.exchange(is_at_work, std::memory_order_relaxed);
  if (is_at_work || was_at_work) return g_changes.fetch_add(1, std::memory_order_relaxed) + 1;
  return g_changes.load(std::memory_order_relaxed);
}

bool has_log_source() { return heaptap_injected_agent.log != 0; }
uint32_t filters_at_start() { return 0; }

LogMemory get_log(wire::StartReason reason) {
  if (reason != wire::StartReason::kStart) return {LogMemory::Answer::kRefused, nullptr, 0};
  return {LogMemory::Answer::kGiven, reinterpret_cast<void*>(heaptap_injected_agent.log),
          heaptap_injected_agent.log_bytes};
}

void note_session(wire::StartReason, wire::LogHeader*) {}

CodeExtent own_code() { return {heaptap_injected_agent.code_start, heaptap_injected_agent.code_bytes}; }
CodeExtent loader_code() {
  return {heaptap_injected_agent.loader_start, heaptap_injected_agent.loader_end - heaptap_injected_agent.loader_start};
}
void note_loader_call() {}
void note_first_process() {}

uintptr_t initial_stack_top() { return heaptap_injected_agent.first_stack; }

ThreadAnchor& thread_anchor() {
  const SessionState state = g_session_page.state.load(std::memory_order_relaxed);
  if (state != SessionState::kStarting && state != SessionState::kRecording) return g_no_thread;
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

bool makes_calls() { return g_makes_calls; }

// The injector knows by the thread that waits.
bool is_own_process() { return true; }

bool may_wait_at_end() { return true; }

// By a loop: a filter that came later might forbid any call. While the memory is read the thread is stopped. Time is what the thread
// itself gets of the processor, by the number of pauses, which take 3 to 50 ns each.
long wait_at_end(const std::atomic<uint32_t>& word, uint32_t value, uint32_t milliseconds) {
  constexpr uint32_t kPausesPerMs = 50'000;
  for (uint32_t left = milliseconds * kPausesPerMs; left != 0; --left) {
    if (word.load(std::memory_order_acquire) != value) return 0;
    if (!is_anyone_answering()) return kernel::kNoSuchProcess;
    arch::native::relax();
  }
  return kernel::kTimedOut;
}

// It looks by itself, every few milliseconds.
void wake_at_end(const std::atomic<uint32_t>&) {}

uint32_t exit_patience_ms() {
  constexpr uint32_t kPatienceMs = 500;
  return kPatienceMs;
}

}  // namespace heaptap::agent::platform

namespace heaptap::agent {
namespace {

// A thread of the process obeys, stopped in the middle of something else, on a stack of the agent's.
wire::InjectedStart begin_session() {
  if (platform::thread_number_in_block() != kernel::thread_id()) return wire::InjectedStart::kUnknownLibrary;
  if (!start_session()) return wire::InjectedStart::kNoSession;
  // A leak scan takes nothing in here for the program's.
  note_own_area(reinterpret_cast<const void*>(heaptap_injected_agent.code_start), heaptap_injected_agent.code_bytes);
  platform::g_makes_calls = false;
  return wire::InjectedStart::kRecording;
}

}  // namespace
}  // namespace heaptap::agent

extern "C" __attribute__((visibility("hidden"), used)) uint64_t heaptap_injected_obey() {
  using namespace heaptap;
  switch (heaptap_injected_agent.order) {
    case wire::InjectedOrder::kTakeSignals:
      return agent::arm_signals() ? 1 : wire::kNotObeyed;
    case wire::InjectedOrder::kGiveBackSignals:
      return agent::may_call_for_program() ? agent::disarm_signals() : wire::kNotObeyed;
    default:
      return static_cast<uint64_t>(agent::begin_session());
  }
}
