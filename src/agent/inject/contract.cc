#include "agent/inject/contract.h"

#include "agent/core/session.h"
#include "agent/inject/threads.h"

extern "C" {

#define HEAPTAP_NUMBERED_HOOKS(HOOK) HOOK(0) HOOK(1) HOOK(2) HOOK(3) HOOK(4) HOOK(5) HOOK(6) HOOK(7) HOOK(8) HOOK(9)
#define HEAPTAP_HOOK(number) extern __attribute__((visibility("hidden"))) const char heaptap_injected_hook_##number[];
HEAPTAP_NUMBERED_HOOKS(HEAPTAP_HOOK)
#undef HEAPTAP_HOOK
extern __attribute__((visibility("hidden"))) const char heaptap_injected_enter[];
}

namespace heaptap::agent {
namespace {

constexpr size_t kBeginStackBytes = 64 << 10;
alignas(64) constinit uint8_t g_begin_stack[kBeginStackBytes]{};

}  // namespace
}  // namespace heaptap::agent

using heaptap::agent::SessionState;

constinit heaptap::wire::InjectedAgent heaptap_injected_agent = {
    .magic = heaptap::wire::kInjectedAgentMagic,
    .bytes = sizeof(heaptap::wire::InjectedAgent),
    .begin = heaptap_injected_enter,
    .begin_stack_top = heaptap::agent::g_begin_stack + heaptap::agent::kBeginStackBytes,
    .state = &heaptap::agent::g_session_page,
    .threads = heaptap::agent::g_threads,
    .state_off = static_cast<uint64_t>(SessionState::kOff),
    .thread_count = heaptap::agent::kThreadEntries,
    .thread_bytes = sizeof(heaptap::agent::ThreadEntry),
#define HEAPTAP_HOOK(number) heaptap_injected_hook_##number,
    .hooks = {HEAPTAP_NUMBERED_HOOKS(HEAPTAP_HOOK)},
#undef HEAPTAP_HOOK
    .originals = {},
    .log = 0,
    .log_bytes = 0,
    .code_start = 0,
    .code_bytes = 0,
    .allocator_start = 0,
    .allocator_end = 0,
    .first_stack = 0,
    .module_count = 0,
    .modules = {}};

extern "C" __attribute__((alias("heaptap_injected_agent"),
                          visibility("hidden"))) heaptap::wire::InjectedAgent heaptap_injected_contract;
