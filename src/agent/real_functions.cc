#include "agent/real_functions.h"

#include <elf.h>
#include <link.h>

#include <atomic>

#include "agent/session.h"
#include "agent/words.h"

extern "C" __attribute__((weak)) int dl_iterate_phdr(int (*)(dl_phdr_info*, size_t, void*), void*);

namespace heaptap::agent {

constinit RealFunctions g_real{};

namespace {

// Its value is right only after the agent was relocated.
const void* volatile g_own_address = &g_real;

constexpr size_t kEarlyBytes = 256 * 1024;
alignas(64) constinit uint8_t g_early[kEarlyBytes];
constinit std::atomic<size_t> g_early_used{0};

// A loaded object's dynamic symbol table.
class SymbolTable {
 public:
  explicit SymbolTable(const dl_phdr_info& object) : bias_(object.dlpi_addr) {
    for (int i = 0; i < object.dlpi_phnum; ++i) {
      if (object.dlpi_phdr[i].p_type == PT_DYNAMIC) read_dynamic(bias_ + object.dlpi_phdr[i].p_vaddr);
    }
  }

  // `bytes` gets the code's size.
  [[nodiscard]] void* find(const char* name, uintptr_t& bytes) const {
    const ElfW(Sym)* symbol = gnu_hash_ != nullptr ? find_gnu(name) : find_sysv(name);
    if (symbol == nullptr) return nullptr;
    const uintptr_t address = bias_ + symbol->st_value;
    bytes = symbol->st_size;
    if ((symbol->st_info & 0xf) == STT_GNU_IFUNC) return reinterpret_cast<void* (*)()>(address)();
    return reinterpret_cast<void*>(address);
  }

 private:
  void read_dynamic(uintptr_t address) {
    for (auto* entry = reinterpret_cast<const ElfW(Dyn)*>(address); entry->d_tag != DT_NULL; ++entry) {
      // glibc has biased these pointers already, others (the vDSO, musl) not.
      uintptr_t pointer = entry->d_un.d_ptr;
      if (pointer < bias_) pointer += bias_;
      switch (entry->d_tag) {
        case DT_SYMTAB:
          symbols_ = reinterpret_cast<const ElfW(Sym)*>(pointer);
          break;
        case DT_STRTAB:
          strings_ = reinterpret_cast<const char*>(pointer);
          break;
        case DT_GNU_HASH:
          gnu_hash_ = reinterpret_cast<const uint32_t*>(pointer);
          break;
        case DT_HASH:
          sysv_hash_ = reinterpret_cast<const uint32_t*>(pointer);
          break;
        case DT_VERSYM:
          versions_ = reinterpret_cast<const uint16_t*>(pointer);
          break;
        default:
          break;
      }
    }
  }

  [[nodiscard]] bool is_definition(uint32_t index, const char* name) const {
    const ElfW(Sym)& symbol = symbols_[index];
    const unsigned type = symbol.st_info & 0xf;
    constexpr uint16_t kHiddenVersion = 0x8000;  // an old version of the name, kept for old programs
    if (versions_ != nullptr && (versions_[index] & kHiddenVersion) != 0) return false;
    return symbol.st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE) &&
           equal(strings_ + symbol.st_name, name);
  }

  [[nodiscard]] const ElfW(Sym) * find_gnu(const char* name) const {
    uint32_t hash = 5381;
    for (const char* at = name; *at != '\0'; ++at) hash = hash * 33 + static_cast<uint8_t>(*at);
    const uint32_t bucket_count = gnu_hash_[0];
    const uint32_t first = gnu_hash_[1];
    const uint32_t* buckets = gnu_hash_ + 4 + gnu_hash_[2] * (sizeof(uintptr_t) / 4);
    const uint32_t* chain = buckets + bucket_count;
    if (bucket_count == 0) return nullptr;
    for (uint32_t index = buckets[hash % bucket_count]; index >= first; ++index) {
      const uint32_t seen = chain[index - first];
      if ((seen | 1) == (hash | 1) && is_definition(index, name)) return &symbols_[index];
      if ((seen & 1) != 0) break;
    }
    return nullptr;
  }

  [[nodiscard]] const ElfW(Sym) * find_sysv(const char* name) const {
    if (sysv_hash_ == nullptr) return nullptr;
    const uint32_t count = sysv_hash_[1];
    for (uint32_t index = 1; index < count; ++index) {
      if (is_definition(index, name)) return &symbols_[index];
    }
    return nullptr;
  }

  uintptr_t bias_;
  const ElfW(Sym) * symbols_ = nullptr;
  const char* strings_ = nullptr;
  const uint32_t* gnu_hash_ = nullptr;
  const uint32_t* sysv_hash_ = nullptr;
  const uint16_t* versions_ = nullptr;
};

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
  const char* name = nullptr;  // of one function; null: all of the list
  void* found = nullptr;
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
  if (!search.behind_agent && search.name == nullptr && replaces_cpp(object)) search.replaced_cpp = true;
  return false;
}

void widen(CodeExtent& around, const CodeExtent& code) {
  const uintptr_t end = code.start + code.bytes;
  const uintptr_t known_end = around.start + around.bytes;
  if (around.start == 0 || code.start < around.start) around.start = code.start;
  around.bytes = (end > known_end ? end : known_end) - around.start;
}

// Takes from this object what isn't known yet.
int search_object(dl_phdr_info* object, size_t, void* context) {
  auto& search = *static_cast<Search*>(context);
  if (!is_behind_agent(search, *object)) return 0;
  const SymbolTable symbols(*object);
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

int search_name(dl_phdr_info* object, size_t, void* context) {
  auto& search = *static_cast<Search*>(context);
  if (!is_behind_agent(search, *object)) return 0;
  uintptr_t bytes = 0;
  search.found = SymbolTable(*object).find(search.name, bytes);
  return search.found != nullptr ? 1 : 0;
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
  if (g_own_address != &g_real || dl_iterate_phdr == nullptr) return false;
  Search search;
  dl_iterate_phdr(&search_object, &search);
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
  dl_iterate_phdr(&search_late, &search);
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

void* find_behind_agent(const char* name) {
  if (g_own_address != &g_real || dl_iterate_phdr == nullptr) return nullptr;
  Search search{.name = name};
  dl_iterate_phdr(&search_name, &search);
  return search.found;
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
