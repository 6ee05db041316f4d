// Hooks for libraries loaded with a scope of their own: their calls bypass the agent's functions, so that their
// allocations and releases aren't seen. Reported to the collector before the first such library is loaded.
#include <stddef.h>
#include <stdint.h>

#include <atomic>

#include "agent/core/session.h"
#include "agent/preload/loaded_objects.h"
#include "agent/preload/preload.h"
#include "agent/preload/real_functions.h"
#include "agent/preload/symbol_table.h"

#define HEAPTAP_FOR_ASSEMBLY extern "C" __attribute__((visibility("hidden"), used))

namespace heaptap::agent {
namespace {

constexpr uintptr_t kDeepBind = 8;

// Kept for later logs: a forked child has the libraries, too.
constinit std::atomic<bool> g_has_own_scopes{false};

void note_own_scope() {
  g_has_own_scopes.store(true, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // either this sees the session, or its starter sees that
  if (is_recording()) g_session.log->own_scopes.store(1, std::memory_order_relaxed);
}

void* no_library(const uintptr_t*) { return nullptr; }

struct LibrarySearch {
  const char* name;
  bool behind_agent;
  void* found;
};

int search_late(dl_phdr_info* object, size_t, void* context) {
  auto& search = *static_cast<LibrarySearch*>(context);
  if (!search.behind_agent) {
    search.behind_agent = holds(*object, reinterpret_cast<uintptr_t>(&g_real));
    return 0;
  }
  uintptr_t bytes = 0;
  search.found = SymbolTable(*object).find(search.name, bytes);
  return search.found != nullptr ? 1 : 0;
}

// Up to glibc 2.33 these functions are in libdl, which may have come after the start, with the library that calls them. The
// loader's lock that is asked for is one that they take as well.
void* real_or_none(Other function, const char* name) {
  if (auto* call = real<void()>(function)) return reinterpret_cast<void*>(call);
  LibrarySearch search{name, false, nullptr};
  if (g_real.searched) for_each_object(&search_late, &search);
  return search.found != nullptr ? search.found : reinterpret_cast<void*>(&no_library);
}

}  // namespace

void tell_own_scopes(wire::LogHeader& log) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (g_has_own_scopes.load(std::memory_order_relaxed)) log.own_scopes.store(1, std::memory_order_relaxed);
}

}  // namespace heaptap::agent

using heaptap::agent::Other;

// dlopen(name, mode)
HEAPTAP_FOR_ASSEMBLY void* heaptap_choose_dlopen(const uintptr_t* arguments) {
  if ((arguments[1] & heaptap::agent::kDeepBind) != 0) heaptap::agent::note_own_scope();
  return heaptap::agent::real_or_none(Other::kOpenLibrary, "dlopen");
}

// dlmopen(namespace, name, mode)
HEAPTAP_FOR_ASSEMBLY void* heaptap_choose_dlmopen(const uintptr_t* arguments) {
  const bool is_another = arguments[0] != 0;
  if (is_another || (arguments[2] & heaptap::agent::kDeepBind) != 0) heaptap::agent::note_own_scope();
  return heaptap::agent::real_or_none(Other::kOpenInNamespace, "dlmopen");
}
