#include "agent/preload/late_functions.h"
#include "agent/core/kernel.h"

#include <link.h>

#include <atomic>

#include "agent/core/string.h"
#include "agent/preload/binding_scopes.h"
#include "agent/preload/loaded_objects.h"
#include "agent/preload/own_symbols.h"
#include "agent/preload/real_functions.h"
#include "agent/preload/symbol_table.h"

#pragma weak _dl_find_object

namespace heaptap::agent {
namespace {

constexpr uint8_t first_operator() {
  uint8_t first = 0;
  while (!wire::is_cpp(wire::kFunctionFacts[first].family)) ++first;
  return first;
}
constexpr uint8_t kFirstOperator = first_operator();
constexpr uint8_t count_operators() {
  uint8_t count = 0;
  while (wire::is_cpp(wire::kFunctionFacts[kFirstOperator + count].family)) ++count;
  return count;
}
constexpr uint8_t kOperators = count_operators();
static_assert(kOperators == 20, "they stand together in functions.def");

using Table = LateTable<kOperators>;
constinit std::atomic<Table*> g_table{nullptr};
constinit wire::Atomic64 g_generation{0};

// Created at the first use: most programs have their operators from the start. Null without memory for it, and in a
// child forked earlier: it makes no system calls. Then every lookup searches.
Table* late_table() {
  Table* known = g_table.load(std::memory_order_acquire);
  if (known != nullptr || !is_first_process()) return known;
  auto* made = static_cast<Table*>(kernel::map_memory(sizeof(Table)));  // zeroed memory is an empty one
  if (made == nullptr || g_table.compare_exchange_strong(known, made, std::memory_order_acq_rel)) return made;
  kernel::unmap(made, sizeof(Table));
  return known;
}

struct Definition {
  void* function = nullptr;
  const link_map* object = nullptr;
};

bool search_object(const link_map& object, const char* name, Definition& found) {
  if (is_agent(object)) return false;
  uintptr_t bytes = 0;
  found = {SymbolTable(object).find(name, bytes), &object};
  return found.function != nullptr;
}

bool search_scope(const Scope* scope, const char* name, Definition& found) {
  const uint32_t count = __atomic_load_n(&scope->count, __ATOMIC_ACQUIRE);
  const link_map* const* objects = __atomic_load_n(&scope->objects, __ATOMIC_ACQUIRE);
  for (uint32_t i = 0; objects != nullptr && i < count; ++i) {
    if (search_object(*objects[i], name, found)) return true;
  }
  return false;
}

// With a loader whose scopes are unknown: its own object, then the first one loaded.
Definition search_all(const link_map* user, const char* name) {
  Definition found;
  if (user != nullptr && search_object(*user, name, found)) return found;
  for (const link_map* object = first_object(); object != nullptr; object = object->l_next) {
    if (search_object(*object, name, found)) return found;
  }
  return {};
}

// The loader's binding of the name in this object; null: the code is in no object.
Definition search_for(const link_map* user, const char* name) {
  const Scope* program = program_scope();
  if (program == nullptr) return search_all(user, name);
  Definition found;
  if (user == nullptr) return search_scope(program, name, found) ? found : Definition{};
  for (const Scope* const* scope = scopes_of(*user); *scope != nullptr; ++scope) {
    if (search_scope(*scope, name, found)) return found;
  }
  return {};
}

struct User {
  const link_map* object = nullptr;
  CodeExtent extent{0, 0};
};

struct UserSearch {
  uintptr_t caller;
  User user;
};

int visit_for_user(dl_phdr_info* info, size_t, void* context) {
  auto& search = *static_cast<UserSearch*>(context);
  if (!holds(*info, search.caller)) return 0;
  search.user.extent = extent_of(*info);
  for (const link_map* object = first_object(); object != nullptr; object = object->l_next) {
    if (object->l_addr == info->dlpi_addr && object->l_name == info->dlpi_name) search.user.object = object;
  }
  return 1;
}

// Objects don't overlap: it is the one with the highest start before that address.
User nearest_object(uintptr_t caller) {
  User user;
  for (const link_map* object = first_object(); object != nullptr; object = object->l_next) {
    const bool is_nearer = user.object == nullptr || object->l_addr > user.object->l_addr;
    if (object->l_addr <= caller && is_nearer) user.object = object;
  }
  return user;
}

// The object of this code. glibc knows it without a lock from 2.35 on.
User user_at(uintptr_t caller) {
  if (&_dl_find_object != nullptr) {
    dl_find_object found;
    if (_dl_find_object(reinterpret_cast<void*>(caller), &found) != 0) return {};
    const auto start = reinterpret_cast<uintptr_t>(found.dlfo_map_start);
    return {found.dlfo_link_map, {start, reinterpret_cast<uintptr_t>(found.dlfo_map_end) - start}};
  }
  if (!is_first_process()) return nearest_object(caller);
  UserSearch search{.caller = caller, .user = {}};
  for_each_object(&visit_for_user, &search);
  return search.user;
}

// Whether the library calls the same malloc, free and the like as the agent.
bool calls_the_same(const link_map& library) {
  for (uint8_t i = 1; i < wire::kFunctionCount; ++i) {
    const auto function = static_cast<wire::Function>(i);
    if (!is_called_by_operators(function)) continue;
    if (search_for(&library, own_symbol(function)).function != g_real.of[i]) return false;
  }
  return true;
}

// Whether all forms that the C++ library calls in turn are a C++ library's, so that they come down to malloc and free, and to those
// that the agent calls. What it gets is kept: as from the loader, it gets that from its first call on. `code` is its own.
bool calls_only_standard(const link_map& library, uintptr_t code, uint64_t generation) {
  Definition found[kOperators];
  bool standard = calls_the_same(library);
  for (uint8_t i = 0; i < kOperators; ++i) {
    found[i] = search_for(&library, own_symbol(static_cast<wire::Function>(kFirstOperator + i)));
    if (found[i].function != nullptr && !is_standard_library(found[i].object->l_name)) standard = false;
  }
  Table* const table = late_table();
  const CodeExtent extent = user_at(code).extent;
  for (uint8_t i = 0; table != nullptr && i < kOperators; ++i) {
    table->learn(i, generation, {{found[i].function, standard && found[i].function != nullptr}, extent});
  }
  return standard;
}

// The last answer, as [object's address >> 4 | generation | answer].
constinit wire::Atomic64 g_last_library{0};

bool is_standard(const Definition& found, uint64_t generation) {
  const link_map& library = *found.object;
  if (!is_standard_library(library.l_name)) return false;
  constexpr uint32_t kGenerationBits = 19;
  const uint64_t low = generation & ((uint64_t{1} << kGenerationBits) - 1);
  const uint64_t key = (reinterpret_cast<uintptr_t>(&library) >> 4 << kGenerationBits | low) << 1;
  const uint64_t last = g_last_library.load(std::memory_order_relaxed);
  if ((last & ~uint64_t{1}) == key) return (last & 1) != 0;
  const bool standard = calls_only_standard(library, reinterpret_cast<uintptr_t>(found.function), generation);
  g_last_library.store(key | (standard ? 1 : 0), std::memory_order_relaxed);
  return standard;
}

struct LateSearch {
  const char* name;
  uintptr_t caller;
  uint64_t generation;
  LateAnswer answer;
};

void search_late(void* context) {
  auto& search = *static_cast<LateSearch*>(context);
  const User user = user_at(search.caller);
  const Definition found = search_for(user.object, search.name);
  const bool standard = found.function != nullptr && is_standard(found, search.generation);
  search.answer = {{found.function, standard}, user.extent};
}

}  // namespace

LateFunction find_late_function(wire::Function function, uintptr_t caller) {
  const uint32_t number = static_cast<uint8_t>(function) - kFirstOperator;
  const uint64_t generation = g_generation.load(std::memory_order_acquire);
  const auto search = [&] {
    LateSearch late{.name = own_symbol(function), .caller = caller, .generation = generation, .answer = {}};
    read_scopes(&search_late, &late);
    return late.answer;
  };
  Table* const table = late_table();
  return table != nullptr ? table->find(number, caller, generation, search) : search().function;
}

void note_loader_call() {
  if (loader_removes()) g_generation.fetch_add(1, std::memory_order_acq_rel);
}

bool is_standard_library(const char* path) {
  const char* name = file_name_of(path);
  return starts_with(name, "libstdc++.so") || starts_with(name, "libc++.so") || starts_with(name, "libc++abi.so");
}

}  // namespace heaptap::agent
