#include "agent/real_functions.h"

#include <elf.h>
#include <link.h>

#include <atomic>

#include "agent/loaded_objects.h"
#include "agent/session.h"
#include "agent/symbol_table.h"
#include "agent/words.h"

namespace heaptap::agent {

constinit RealFunctions g_real{};

namespace {

constexpr const char* kOtherNames[] = {
#define HEAPTAP_OTHER_NAME(enumerator, name) name,
    HEAPTAP_OTHER_FUNCTIONS(HEAPTAP_OTHER_NAME)
#undef HEAPTAP_OTHER_NAME
};

constexpr size_t kEarlyBytes = 256 * 1024;
alignas(64) constinit uint8_t g_early[kEarlyBytes];
constinit std::atomic<size_t> g_early_used{0};

bool holds(const dl_phdr_info& object, uintptr_t address) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object.dlpi_phdr[i];
    if (segment.p_type == PT_LOAD && address - (object.dlpi_addr + segment.p_vaddr) < segment.p_memsz) return true;
  }
  return false;
}

CodeExtent extent_of(const dl_phdr_info& object) {
  uintptr_t start = UINTPTR_MAX;
  uintptr_t end = 0;
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object.dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    const uintptr_t address = object.dlpi_addr + segment.p_vaddr;
    if (address < start) start = address;
    if (address + segment.p_memsz > end) end = address + segment.p_memsz;
  }
  return {start, end - start};
}

bool is_standard_library(const char* path) {
  const char* name = file_name_of(path);
  return starts_with(name, "libstdc++.so") || starts_with(name, "libc++.so") || starts_with(name, "libc++abi.so");
}

struct Search {
  bool behind_agent = false;
  bool replaced_cpp = false;  // by the program, or by a library of its own
};

bool replaces_cpp(const dl_phdr_info& object) {
  const SymbolTable symbols(object);
  for (const wire::FunctionFacts& facts : wire::kFunctionFacts) {
    uintptr_t bytes = 0;
    if (wire::is_cpp(facts.family) && symbols.find(facts.symbol, bytes) != nullptr) return true;
  }
  return false;
}

// True for what stands behind the agent in the order of search: the agent itself and the program before it don't count.
bool is_behind_agent(Search& search, const dl_phdr_info& object) {
  if (search.behind_agent) return true;
  search.behind_agent = holds(object, reinterpret_cast<uintptr_t>(&g_real));
  if (!search.behind_agent && replaces_cpp(object)) search.replaced_cpp = true;
  return false;
}

void widen(CodeExtent& around, const CodeExtent& code) {
  const uintptr_t end = code.start + code.bytes;
  const uintptr_t known_end = around.start + around.bytes;
  if (around.start == 0 || code.start < around.start) around.start = code.start;
  around.bytes = (end > known_end ? end : known_end) - around.start;
}

void search_others(const SymbolTable& symbols) {
  for (size_t i = 0; i < kOtherCount; ++i) {
    uintptr_t bytes = 0;
    if (g_real.other[i] == nullptr) g_real.other[i] = symbols.find(kOtherNames[i], bytes);
  }
}

// Takes from this object what isn't known yet.
int search_object(dl_phdr_info* object, size_t, void* context) {
  auto& search = *static_cast<Search*>(context);
  if (!is_behind_agent(search, *object)) return 0;
  const SymbolTable symbols(*object);
  search_others(symbols);
  const bool is_standard = is_standard_library(object->dlpi_name);
  for (uint8_t i = 1; i < wire::kFunctionCount; ++i) {
    if (g_real.of[i] != nullptr) continue;
    const wire::FunctionFacts& facts = wire::kFunctionFacts[i];
    if (facts.symbol[0] == '\0') continue;
    uintptr_t bytes = 0;
    void* found = symbols.find(facts.symbol, bytes);
    if (found == nullptr) continue;
    g_real.code[i] = {reinterpret_cast<uintptr_t>(found), bytes};
    if (wire::is_cpp(facts.family) && !is_standard) search.replaced_cpp = true;
    if (wire::is_cpp(facts.family) && facts.role == wire::Role::kAllocate) widen(g_real.cpp, g_real.code[i]);
    if (i == static_cast<uint8_t>(wire::Function::kMalloc)) g_real.allocator = extent_of(*object);
    __atomic_store_n(&g_real.of[i], found, __ATOMIC_RELEASE);
  }
  return 0;
}

struct LateSearch {
  const char* name;
  uintptr_t caller;
  CodeExtent caller_object{};
  void* own = nullptr;       // the caller's object defines it
  void* standard = nullptr;  // the C++ library does
  void* other = nullptr;
};

int search_late(dl_phdr_info* object, size_t, void* context) {
  auto& search = *static_cast<LateSearch*>(context);
  if (holds(*object, reinterpret_cast<uintptr_t>(&g_real))) return 0;
  const bool is_callers = holds(*object, search.caller);
  if (is_callers) search.caller_object = extent_of(*object);
  uintptr_t bytes = 0;
  void* found = SymbolTable(*object).find(search.name, bytes);
  if (found == nullptr) return 0;
  if (is_callers) search.own = found;
  void*& place = is_standard_library(object->dlpi_name) ? search.standard : search.other;
  if (place == nullptr) place = found;
  return 0;
}

// The last answer for each function. Written by any thread: a torn entry is told by its check, and found anew.
struct LateMemory {
  std::atomic<uint32_t> unloads;
  std::atomic<uintptr_t> start;
  std::atomic<uintptr_t> bytes;
  std::atomic<uintptr_t> function;  // lowest bit: standard
  std::atomic<uintptr_t> check;     // all of these, mixed
};
constinit LateMemory g_late[wire::kFunctionCount]{};

uintptr_t check_of(uint32_t unloads, uintptr_t start, uintptr_t bytes, uintptr_t function) {
  return (start * 31 + bytes) * 31 + function + unloads + 1;
}

}  // namespace

bool find_real_functions() {
  if (g_real.searched) return true;
  if (first_object() == nullptr) return false;
  note_first_process();
  Search search;
  for_each_object(&search_object, &search);
  const bool has_cpp = g_real.of[static_cast<uint8_t>(wire::Function::kNew)] != nullptr;
  g_real.standard_cpp = has_cpp && !search.replaced_cpp;
  if (!g_real.standard_cpp) g_real.cpp = {};
  __atomic_store_n(&g_real.searched, true, __ATOMIC_RELEASE);
  return true;
}

LateFunction find_late_function(wire::Function function, uintptr_t caller) {
  LateMemory& memory = g_late[static_cast<uint8_t>(function)];
  const uint32_t unloads = g_session.unwind.unloads.load(std::memory_order_acquire);
  const uintptr_t start = memory.start.load(std::memory_order_relaxed);
  const uintptr_t bytes = memory.bytes.load(std::memory_order_relaxed);
  const uintptr_t known = memory.function.load(std::memory_order_relaxed);
  const bool sound = memory.unloads.load(std::memory_order_relaxed) == unloads &&
                     memory.check.load(std::memory_order_acquire) == check_of(unloads, start, bytes, known);
  if (sound && known != 0 && caller - start < bytes && is_recording()) {
    return {reinterpret_cast<void*>(known & ~uintptr_t{1}), (known & 1) != 0};
  }
  if (!g_real.searched) return {nullptr, false};
  LateSearch search{.name = wire::facts_of(function).symbol, .caller = caller};
  for_each_object(&search_late, &search);
  const bool is_standard = search.own == nullptr && search.standard != nullptr;
  void* found = search.own != nullptr ? search.own : is_standard ? search.standard : search.other;
  const uintptr_t word = reinterpret_cast<uintptr_t>(found) | (is_standard ? 1 : 0);
  if ((reinterpret_cast<uintptr_t>(found) & 1) == 0) {
    memory.check.store(0, std::memory_order_release);
    memory.unloads.store(unloads, std::memory_order_relaxed);
    memory.start.store(search.caller_object.start, std::memory_order_relaxed);
    memory.bytes.store(search.caller_object.bytes, std::memory_order_relaxed);
    memory.function.store(word, std::memory_order_relaxed);
    memory.check.store(check_of(unloads, search.caller_object.start, search.caller_object.bytes, word),
                       std::memory_order_release);
  }
  return {found, is_standard};
}

bool RealFunctions::is_within_one(uintptr_t address) const {
  for (const CodeExtent& extent : code) {
    if (extent.holds(address)) return true;
  }
  return false;
}

void* early_allocate(size_t alignment, size_t bytes) {
  if (alignment < 16) alignment = 16;
  if (bytes > kEarlyBytes || alignment > 4096) return nullptr;
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
