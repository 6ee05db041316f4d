#include "agent/preload/loaded_objects.h"

#include <atomic>

#include "agent/core/kernel.h"
#include "agent/core/pages.h"
#include "agent/core/string.h"
#include "agent/preload/symbol_table.h"

#pragma weak _r_debug

namespace heaptap::agent {
namespace {

using Iterate = int(int (*)(dl_phdr_info*, size_t, void*), void*);

constinit std::atomic<Iterate*> g_iterate{nullptr};

// A page that the kernel clears in forked children.
struct alignas(kLargestPageBytes) FirstProcess {
  std::atomic<uint32_t> is_first;
  std::atomic<uint32_t> saw_rest;  // what the loader's state says is of this process: it isn't the copy of one at work
  uint8_t padding[kLargestPageBytes - 2 * sizeof(std::atomic<uint32_t>)];
};
constinit FirstProcess g_first_process{};

// Valid only after the agent was relocated.
const void* volatile g_own_address = &g_first_process;

Iterate* find_iterate() {
  for (const link_map* object = first_object(); object != nullptr; object = object->l_next) {
    const SymbolTable symbols(*object);
    if (!equal(symbols.own_name(), "libc.so.6")) continue;
    uintptr_t bytes = 0;
    return reinterpret_cast<Iterate*>(symbols.find("dl_iterate_phdr", bytes));
  }
  return nullptr;
}

}  // namespace

const link_map* first_object() {
  return g_own_address == &g_first_process && &_r_debug != nullptr ? _r_debug.r_map : nullptr;
}

void for_each_object(int (*visit)(dl_phdr_info*, size_t, void*), void* context) {
  Iterate* iterate = g_iterate.load(std::memory_order_relaxed);
  if (iterate == nullptr) {
    iterate = find_iterate();
    g_iterate.store(iterate, std::memory_order_relaxed);
  }
  if (iterate != nullptr) iterate(visit, context);
}

void mark_first_process() {
  if (kernel::advise(&g_first_process, sizeof(g_first_process), MADV_WIPEONFORK)) {
    g_first_process.is_first.store(1, std::memory_order_relaxed);
  }
}

bool is_first_process() { return g_first_process.is_first.load(std::memory_order_relaxed) != 0; }

bool loader_takes_lock() {
  if (!loader_is_at_work()) {
    g_first_process.saw_rest.store(1, std::memory_order_relaxed);
    return false;
  }
  return g_first_process.saw_rest.load(std::memory_order_relaxed) != 0;
}

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

bool is_loader(const dl_phdr_info& object) {
  return &_r_debug != nullptr && _r_debug.r_ldbase != 0 && object.dlpi_addr == _r_debug.r_ldbase;
}

bool loader_removes() {
  return &_r_debug != nullptr && __atomic_load_n(&_r_debug.r_state, __ATOMIC_RELAXED) == r_debug::RT_DELETE;
}

bool loader_is_at_work() {
  return &_r_debug != nullptr && __atomic_load_n(&_r_debug.r_state, __ATOMIC_RELAXED) != r_debug::RT_CONSISTENT;
}

}  // namespace heaptap::agent
