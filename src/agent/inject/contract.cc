#include "agent/inject/contract.h"

#include "agent/core/session.h"
#include "agent/core/signal_action.h"
#include "agent/inject/threads.h"
#include "agent/inject/traps.h"

extern "C" {

extern __attribute__((visibility("hidden"))) const char heaptap_injected_hooks[];
extern __attribute__((visibility("hidden"))) const char heaptap_injected_enter[];
extern __attribute__((visibility("hidden"))) const char heaptap_injected_enter_end[];
}

namespace heaptap::agent {
namespace {

constexpr uint64_t kHookBytes = 32;  // as injected_hooks.S has them
static_assert(wire::kMaxInjectedFunctions == 160);
constexpr size_t kEnterStackBytes = 64 << 10;
alignas(64) constinit uint8_t g_enter_stack[kEnterStackBytes]{};
static_assert(offsetof(wire::InjectedAgent, result) == 16, "as injected_hooks.S has it");

}  // namespace
}  // namespace heaptap::agent

using heaptap::agent::SessionState;

constinit heaptap::wire::InjectedAgent heaptap_injected_agent = {
    .magic = heaptap::wire::kInjectedAgentMagic,
    .bytes = sizeof(heaptap::wire::InjectedAgent),
    .result = heaptap::wire::kNoResult,
    .enter = heaptap_injected_enter,
    .enter_end = heaptap_injected_enter_end,
    .enter_stack_top = heaptap::agent::g_enter_stack + heaptap::agent::kEnterStackBytes,
    .state = &heaptap::agent::g_session_page,
    .threads = heaptap::agent::g_threads,
    .state_off = static_cast<uint64_t>(SessionState::kOff),
    .thread_count = heaptap::agent::kThreadEntries + 1,
    .thread_bytes = sizeof(heaptap::agent::ThreadEntry),
    .hooks = heaptap_injected_hooks,
    .hook_bytes = heaptap::agent::kHookBytes,
    .trap_action = {.handler = heaptap_injected_on_trap,
                    .flags = heaptap::agent::signal_flag::kInfo | heaptap::agent::signal_flag::kOnStack |
                             heaptap::agent::signal_flag::kRestorer,
                    .restorer = heaptap_signal_return,
                    .mask = ~uint64_t{0}},
    .programs_trap_action = {},
    .trap_action_now = {},
    .order = heaptap::wire::InjectedOrder::kBegin,
    .log = 0,
    .log_bytes = 0,
    .code_start = 0,
    .code_bytes = 0,
    .allocator_start = 0,
    .allocator_end = 0,
    .first_stack = 0,
    .loader_start = 0,
    .loader_end = 0,
    .loader_state = 0,
    .find_object = 0,
    .span_count = 0,
    .spans = {},
    .mapping_owner_count = 0,
    .mapping_owners = {},
    .library = {},
    .has_destructors = 0,
    .answers_ends = 0,
    .process = 0,
    .injector = 0,
    .injector_start = 0,
    .area_count = 0,
    .areas = {},
    .other_count = 0,
    .others = {},
    .site_count = 0,
    .sites = {},
    .function_count = 0,
    .functions = {},
    .module_count = 0,
    .modules = {}};
