#include "agent/preload/real_functions.h"

#include <elf.h>
#include <link.h>

#include <atomic>

#include "agent/core/kernel.h"
#include "agent/core/pages.h"
#include "agent/core/string.h"
#include "agent/preload/binding_scopes.h"
#include "agent/preload/late_functions.h"
#include "agent/preload/loaded_objects.h"
#include "agent/preload/own_symbols.h"
#include "agent/preload/preload.h"
#include "agent/preload/symbol_table.h"

namespace heaptap::agent {

constinit RealFunctions g_real{};

namespace {

constexpr const char* kOtherNames[] = {
#define HEAPTAP_OTHER_NAME(enumerator, name) name,
    HEAPTAP_OTHER_FUNCTIONS(HEAPTAP_OTHER_NAME) HEAPTAP_EXEC_FUNCTIONS(HEAPTAP_OTHER_NAME)
#undef HEAPTAP_OTHER_NAME
};

constexpr size_t kEarlyBytes = 256 * 1024;
alignas(64) constinit uint8_t g_early[kEarlyBytes];
constinit std::atomic<size_t> g_early_used{0};

struct Search {
  bool behind_agent = false;
  bool replaced_cpp = false;  // by the program, or by a library of its own; or what the C++ library's forms are made of
  bool is_before[wire::kFunctionCount] = {};  // a definition that callers get instead of the agent's
};

// Definition that callers get from this object, which comes before the agent.
void note_before(Search& search, const dl_phdr_info& object) {
  const SymbolTable symbols(object);
  for (uint8_t i = 1; i < wire::kFunctionCount; ++i) {
    const wire::FunctionFacts& facts = wire::kFunctionFacts[i];
    const bool is_cpp = wire::is_cpp(facts.family);
    if (!is_cpp && !is_called_by_operators(static_cast<wire::Function>(i))) continue;
    uintptr_t bytes = 0;
    if (symbols.find(own_symbol(static_cast<wire::Function>(i)), bytes) == nullptr) continue;
    search.is_before[i] = true;
    // The C++ library gets it as well: what the agent would call isn't what that would call.
    search.replaced_cpp = true;
  }
}

// True for objects after the agent in the search order: the agent itself and the program before it don't count.
bool is_behind_agent(Search& search, const dl_phdr_info& object) {
  if (search.behind_agent) return true;
  search.behind_agent = holds(object, reinterpret_cast<uintptr_t>(&g_real));
  if (!search.behind_agent) note_before(search, object);
  return false;
}

// Whether blocks can come from an operator that the hooks don't see, and go by one that they see, or the other way round.
bool splits_cpp(const Search& search) {
  using wire::Function;
  struct Forms {
    Function allocate;
    Function release;
    Function release_sized;
  };
  constexpr Forms kForms[] = {
      {Function::kNew, Function::kDelete, Function::kDeleteSized},
      {Function::kNewArray, Function::kDeleteArray, Function::kDeleteArraySized},
      {Function::kNewAligned, Function::kDeleteAligned, Function::kDeleteSizedAligned},
      {Function::kNewArrayAligned, Function::kDeleteArrayAligned, Function::kDeleteArraySizedAligned}};
  const auto is_before = [&](Function function) { return search.is_before[static_cast<uint8_t>(function)]; };
  for (const Forms& forms : kForms) {
    const bool allocates = is_before(forms.allocate);
    if (is_before(forms.release) != allocates || is_before(forms.release_sized) != allocates) return true;
  }
  return false;
}

void widen(CodeExtent& around, const CodeExtent& code) {
  const uintptr_t end = code.start + code.bytes;
  const uintptr_t known_end = around.start + around.bytes;
  if (around.start == 0 || code.start < around.start) around.start = code.start;
  around.bytes = (end > known_end ? end : known_end) - around.start;
}

bool is_libc(const SymbolTable& symbols) {
  uintptr_t bytes = 0;
  return symbols.find("__libc_start_main", bytes) != nullptr && symbols.find("gnu_get_libc_version", bytes) != nullptr;
}

// A name that any library may have for something else. No hook stands in front of it, the agent itself calls it: libc's alone.
constexpr bool is_free_name(size_t other) { return other == static_cast<size_t>(Other::kOnExit); }

void search_others(const SymbolTable& symbols) {
  for (size_t i = 0; i < kOtherCount; ++i) {
    uintptr_t bytes = 0;
    if (g_real.other[i] != nullptr) continue;
    void* const found = symbols.find(kOtherNames[i], bytes);
    if (found != nullptr && (!is_free_name(i) || is_libc(symbols))) g_real.other[i] = found;
  }
}

// Takes missing functions from this object.
int search_object(dl_phdr_info* object, size_t, void* context) {
  auto& search = *static_cast<Search*>(context);
  if (is_loader(*object)) g_real.loader = extent_of(*object);
  if (!is_behind_agent(search, *object)) return 0;
  const SymbolTable symbols(*object);
  search_others(symbols);
  const bool is_standard = is_standard_library(object->dlpi_name);
  for (uint8_t i = 1; i < wire::kFunctionCount; ++i) {
    if (g_real.of[i] != nullptr) continue;
    const wire::FunctionFacts& facts = wire::kFunctionFacts[i];
    if (facts.symbol[0] == '\0') continue;
    uintptr_t bytes = 0;
    void* found = symbols.find(own_symbol(static_cast<wire::Function>(i)), bytes);
    if (found == nullptr) continue;
    g_real.code[i] = {reinterpret_cast<uintptr_t>(found), bytes};
    if (wire::is_cpp(facts.family) && !is_standard) search.replaced_cpp = true;
    if (wire::is_cpp(facts.family) && facts.role == wire::Role::kAllocate) widen(g_real.cpp, g_real.code[i]);
    if (i == static_cast<uint8_t>(wire::Function::kMalloc)) g_real.allocator = extent_of(*object);
    __atomic_store_n(&g_real.of[i], found, __ATOMIC_RELEASE);
  }
  return 0;
}

}  // namespace

bool find_real_functions() {
  if (g_real.searched) return true;
  if (first_object() == nullptr) return false;
  read_environment();  // any hook may come first: after it a session can start
  Search search;
  for_each_object(&search_object, &search);
  auto* libc_version = reinterpret_cast<const char* (*)()>(g_real.other[static_cast<uint8_t>(Other::kVersion)]);
  find_scopes(libc_version != nullptr ? libc_version() : nullptr);
  const bool has_cpp = g_real.of[static_cast<uint8_t>(wire::Function::kNew)] != nullptr;
  g_real.standard_cpp = has_cpp && !search.replaced_cpp;
  if (!g_real.standard_cpp) g_real.cpp = {};
  g_real.splits_cpp = splits_cpp(search);
  const CodeExtent parts[] = {g_real.allocator, g_real.cpp, g_real.loader};
  for (const CodeExtent& part : parts) {
    if (part.bytes != 0) widen(g_real.around, part);
  }
  __atomic_store_n(&g_real.searched, true, __ATOMIC_RELEASE);
  return true;
}

bool RealFunctions::is_within_one(uintptr_t address) const {
  for (const CodeExtent& extent : code) {
    if (extent.holds(address)) return true;
  }
  return false;
}

bool RealFunctions::is_within_new(uintptr_t address) const {
  if (!cpp.holds(address)) return false;
  for (size_t i = 0; i < wire::kFunctionCount; ++i) {
    const wire::FunctionFacts& facts = wire::kFunctionFacts[i];
    if (wire::is_cpp(facts.family) && facts.role == wire::Role::kAllocate && code[i].holds(address)) return true;
  }
  return false;
}

void* early_allocate(size_t alignment, size_t bytes) {
  if (alignment < 16) alignment = 16;
  if (bytes > kEarlyBytes || alignment > page_bytes()) return nullptr;
  // [size, padded to the alignment][block]
  const size_t whole = ((bytes + 15) & ~size_t{15}) + alignment + 16;
  const size_t at = g_early_used.fetch_add(whole, std::memory_order_relaxed);
  if (at + whole > kEarlyBytes) return nullptr;
  const uintptr_t block = (reinterpret_cast<uintptr_t>(g_early) + at + 16 + alignment - 1) & ~(alignment - 1);
  *reinterpret_cast<size_t*>(block - 16) = bytes;
  return reinterpret_cast<void*>(block);
}

bool is_early(const void* block) {
  return reinterpret_cast<uintptr_t>(block) - reinterpret_cast<uintptr_t>(g_early) < kEarlyBytes;
}

size_t early_size(const void* block) {
  return *reinterpret_cast<const size_t*>(reinterpret_cast<uintptr_t>(block) - 16);
}

}  // namespace heaptap::agent
