// Platform implementation of the preloaded library: gives the core what it needs of libc and the loader.
#include <elf.h>
#include <link.h>

#include <atomic>

#include "agent/core/kernel.h"
#include "agent/core/platform.h"
#include "agent/core/session.h"
#include "agent/core/string.h"
#include "agent/loaded/object_headers.h"
#include "agent/preload/control_block.h"
#include "agent/preload/late_functions.h"
#include "agent/preload/loaded_objects.h"
#include "agent/preload/log_request.h"
#include "agent/preload/preload.h"
#include "agent/preload/preload_only_collector.h"
#include "agent/preload/real_functions.h"
#include "agent/preload/symbol_table.h"
#include "common/arch/native.h"

#pragma weak _dl_find_object

extern "C" {
// Start of this library, from the linker.
extern __attribute__((visibility("hidden"))) const char __ehdr_start[];  // NOLINT(*-identifier*): its name
extern __attribute__((visibility("hidden"))) const char _end[];          // NOLINT(*-identifier*)
__attribute__((weak)) extern char** environ;
__attribute__((weak)) extern void* __libc_stack_end;  // start of the initial stack: argc, argv, environment
}

namespace heaptap::agent {

__attribute__((tls_model("initial-exec"))) __thread ThreadAnchor g_anchor;

namespace platform {
namespace {

constinit CodeExtent g_loader{};
constinit wire::Atomic64 g_changes{0};
constinit std::atomic<bool> g_unseen{false};  // the loader was active
constinit char g_path[4096];                  // of the module being listed; the list is made by one thread at a time
constinit char g_main_path[4096];             // the program's path when the kernel could still be asked

// The path passed to exec, which the kernel stores after the environment. Null: missing.
const char* executed_name() { return reinterpret_cast<const char*>(told_by_kernel(AT_EXECFN)); }

// Without /proc, or under a filter that forbids readlink, the path passed to exec.
void find_main_path() {
  const long link_bytes = kernel::read_link("/proc/self/exe", g_main_path, sizeof(g_main_path) - 1);
  if (link_bytes > 0) return;
  const char* name = executed_name();
  if (name == nullptr) return;
  size_t used = 0;
  if (name[0] != '/') {
    const long bytes = kernel::system_call(__NR_getcwd, reinterpret_cast<long>(g_main_path), sizeof(g_main_path) / 2);
    if (bytes > 0) used = static_cast<size_t>(bytes);  // with the end of the text
    if (bytes > 0) g_main_path[used - 1] = '/';
  }
  const size_t name_bytes = length_of(name);
  const bool fits = used + name_bytes < sizeof(g_main_path);
  if (fits) copy_bytes(g_main_path + used, name, name_bytes + 1);
  if (!fits) g_main_path[0] = '\0';
}

// The module's path as one that other processes can open.
const char* path_of(const dl_phdr_info& object, bool is_main) {
  const char* name = object.dlpi_name;
  if (!is_main && name[0] == '/') return name;
  if (!is_main && starts_with(name, "linux-vdso")) return name;
  if (is_main) {
    if (g_main_path[0] == '\0') find_main_path();
    return g_main_path;
  }
  const long bytes = kernel::system_call(__NR_getcwd, reinterpret_cast<long>(g_path), sizeof(g_path) / 2);
  const size_t name_bytes = length_of(name);
  size_t used = bytes > 0 ? static_cast<size_t>(bytes) - 1 : 0;
  if (used == 0 || used + name_bytes + 2 > sizeof(g_path)) return name;
  g_path[used++] = '/';
  copy_bytes(g_path + used, name, name_bytes + 1);
  return g_path;
}

void note_loader(const dl_phdr_info& object) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object.dlpi_phdr[i];
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0) {
      g_loader = {object.dlpi_addr + segment.p_vaddr, segment.p_memsz};
    }
  }
}

void* find_symbol(const void* object, const char* name, uintptr_t& bytes) {
  return SymbolTable(*static_cast<const dl_phdr_info*>(object)).find(name, bytes);
}

struct Listing {
  void (*visit)(void*, const ModuleFacts&);
  void* context;
  bool is_first = true;
};

int list_object(dl_phdr_info* object, size_t, void* context) {
  auto& listing = *static_cast<Listing*>(context);
  ModuleFacts facts{};
  facts.is_main = listing.is_first;
  listing.is_first = false;
  facts.bias = object->dlpi_addr;
  constexpr uintptr_t kLowestAddress = 65536;  // below it the headers' address isn't relocated yet
  if (reinterpret_cast<uintptr_t>(object->dlpi_phdr) >= kLowestAddress) {
    read_headers(*object, facts);
    facts.symbols = object;
    facts.find_symbol = &find_symbol;
    facts.is_vdso = starts_with(object->dlpi_name, "linux-vdso");
    const bool is_loader = starts_with(file_name_of(object->dlpi_name), "ld-");
    if (is_loader) note_loader(*object);
    if (!is_loader && !facts.is_main) facts.entry = 0;  // in a library that is also executable it doesn't begin there
  }
  facts.path = path_of(*object, facts.is_main);
  listing.visit(listing.context, facts);
  return 0;
}

int read_changes(dl_phdr_info* object, size_t bytes, void* context) {
  if (bytes >= offsetof(dl_phdr_info, dlpi_subs) + sizeof(object->dlpi_subs)) {
    *static_cast<uint64_t*>(context) = object->dlpi_adds * 0x100000001 + object->dlpi_subs;
  }
  return 1;
}

}  // namespace

void for_each_module(void (*visit)(void*, const ModuleFacts&), void* context) {
  Listing listing{visit, context};
  for_each_object(&list_object, &listing);
}

// Without a lock.
bool visit_module_at(uintptr_t address, void (*visit)(void*, const ModuleFacts&), void* context) {
  dl_phdr_info object{};
  if (!find_object_at(&_dl_find_object, address, object)) return false;
  Listing listing{.visit = visit, .context = context, .is_first = false};
  list_object(&object, sizeof(object), &listing);
  return true;
}

// The loader is only asked while it is active, and in the first process once more after that.
uint64_t module_changes() {
  const bool takes_lock = loader_takes_lock();
  const bool late = !takes_lock && is_first_process() && g_unseen.exchange(false, std::memory_order_relaxed);
  if (takes_lock) g_unseen.store(true, std::memory_order_relaxed);
  uint64_t changes = g_changes.load(std::memory_order_relaxed);
  if (takes_lock || late) {
    for_each_object(&read_changes, &changes);
    g_changes.store(changes, std::memory_order_relaxed);
  }
  return changes;
}

void note_first_process() { mark_first_process(); }

CodeExtent own_code() {
  const auto start = reinterpret_cast<uintptr_t>(__ehdr_start);
  return {start, reinterpret_cast<uintptr_t>(_end) - start};
}

void note_loader_call() { agent::note_loader_call(); }

CodeExtent loader_code() { return g_loader; }

uintptr_t initial_stack_top() {
  return &__libc_stack_end != nullptr ? reinterpret_cast<uintptr_t>(__libc_stack_end) : 0;
}

ThreadAnchor& thread_anchor() { return g_anchor; }

// A thread of the program's own making may have thread-local memory that isn't as the C library's. By the pointer to the block its
// anchor was found, in all threads equally far below: such a pointer is followed without a question.
uintptr_t thread_control_block() {
  static constinit std::atomic<uintptr_t> known_distance{0};
  const uintptr_t block = agent::control_block();
  if (block == 0 || block % sizeof(uintptr_t) != 0) return 0;
  const uintptr_t distance = block - reinterpret_cast<uintptr_t>(&g_anchor);
  const bool is_known = distance == known_distance.load(std::memory_order_relaxed);
  if (!is_known && may_call() && !kernel::is_readable(block)) return 0;
  if (!arch::native::kControlBlockIsBelow && load_word(block) != block) return 0;
  uintptr_t unknown = 0;
  if (!is_known) known_distance.compare_exchange_strong(unknown, distance, std::memory_order_relaxed);
  return block;
}

uint32_t thread_number_in_block() {
  const uintptr_t block = thread_control_block();
  if (block == 0) return 0;
  const uintptr_t place = block + arch::native::kGlibcThreadNumber;
  if (page_begin(place) != page_begin(block) && !kernel::is_readable(place)) return 0;
  return *reinterpret_cast<const volatile uint32_t*>(place);
}

bool makes_calls() { return true; }

bool is_own_process() { return kernel::process_id() == g_session.process; }

bool may_wait_at_end() { return may_call(); }

long wait_at_end(const std::atomic<uint32_t>& word, uint32_t value, uint32_t milliseconds) {
  return kernel::futex_wait(&word, value, milliseconds);
}

void wake_at_end(const std::atomic<uint32_t>& word) { kernel::futex_wake(&word); }

uint32_t exit_patience_ms() { return wire::kExitPatienceMs; }

}  // namespace platform

char* value_of(char* entry, const char* name) {
  const size_t length = length_of(name);
  return starts_with(entry, name) && entry[length] == '=' ? entry + length + 1 : nullptr;
}

char** find_environment() {
  if (&__libc_stack_end == nullptr || __libc_stack_end == nullptr) return nullptr;
  auto* stack = static_cast<uintptr_t*>(__libc_stack_end);
  const uintptr_t count = *stack;
  constexpr uintptr_t kMaxArguments = 1u << 24;
  if (count > kMaxArguments || stack[1 + count] != 0) return nullptr;
  return reinterpret_cast<char**>(stack + 1 + count + 1);
}

uintptr_t told_by_kernel(uintptr_t type) {
  char** entry = find_environment();
  if (entry == nullptr) return 0;
  while (*entry != nullptr) ++entry;
  for (const auto* fact = reinterpret_cast<const ElfW(auxv_t)*>(entry + 1); fact->a_type != AT_NULL; ++fact) {
    if (fact->a_type == type) return fact->a_un.a_val;
  }
  return 0;
}

namespace {

constinit char g_agent_path[512];

void clear_text(char* text) {
  while (*text != '\0') *text++ = '\0';
}

// LD_PRELOAD is a list.
bool divides_list(char character) { return character == ':' || character == ' '; }

size_t entry_bytes(const char* entry) {
  size_t bytes = 0;
  while (entry[bytes] != '\0' && !divides_list(entry[bytes])) ++bytes;
  return bytes;
}

// Keeps the first entry of LD_PRELOAD, for programs that are executed later.
void note_agent(const char* value) {
  const size_t bytes = entry_bytes(value);
  if (bytes >= sizeof(g_agent_path)) return;
  copy_bytes(g_agent_path, value, bytes);
  g_agent_path[bytes] = '\0';
}

bool is_agent(const char* entry, size_t bytes) {
  const char* const own = file_name_of(g_agent_path);
  const size_t name_bytes = length_of(own);
  if (name_bytes == 0 || name_bytes > bytes) return false;
  const char* const name = entry + bytes - name_bytes;
  if (name != entry && name[-1] != '/') return false;
  for (size_t i = 0; i < name_bytes; ++i) {
    if (name[i] != own[i]) return false;
  }
  return true;
}

// Removes the agent from LD_PRELOAD: heaptap puts it first, others anywhere. True: nothing is left.
bool drop_agent(char* value) {
  char* entry = value;
  while (!is_agent(entry, entry_bytes(entry))) {
    entry += entry_bytes(entry);
    if (*entry == '\0') return *value == '\0';
    ++entry;
  }
  char* rest = entry + entry_bytes(entry);
  if (*rest != '\0') {
    ++rest;
  } else if (entry != value) {
    --entry;  // including its separator
  }
  while (*rest != '\0') *entry++ = *rest++;
  clear_text(entry);
  return *value == '\0';
}

// Whether the variable is for the agent alone.
bool is_agents(char* entry) {
  using namespace wire;
  for (const char* name : {kSessionVariable, kFiltersVariable, kEnabledVariable}) {
    if (value_of(entry, name) != nullptr) return true;
  }
  if (g_log_request.output == nullptr) return false;
  for (const char* name : {kOutputVariable, kCollectorVariable, kOptionsVariable}) {
    if (value_of(entry, name) != nullptr) return true;
  }
  return false;
}

// The program and its children see the environment that they would have without the agent.
void clean_environment(char** environment) {
  char** to = environment;
  for (char** from = environment; *from != nullptr; ++from) {
    char* preload = value_of(*from, wire::kPreloadVariable);
    const bool drop = **from == '\0' || is_agents(*from) || (preload != nullptr && drop_agent(preload));
    if (drop) {
      clear_text(*from);
    } else {
      *to++ = *from;
    }
  }
  *to = nullptr;
}

}  // namespace

const char* agent_path() { return g_agent_path; }

void set_agent_path(const char* path) {
  const size_t bytes = length_of(path);
  if (bytes < sizeof(g_agent_path)) copy_bytes(g_agent_path, path, bytes + 1);
}

void read_environment() {
  static constinit bool opened = false;
  if (opened) return;
  opened = true;
  if (const uintptr_t bytes = told_by_kernel(AT_PAGESZ); bytes != 0) g_page_bytes = bytes;
  char** environment = find_environment();
  if (environment == nullptr) return;
  for (char** entry = environment; *entry != nullptr; ++entry) {
    if (const char* text = value_of(*entry, wire::kSessionVariable)) set_socket_name(text);
    if (const char* count = value_of(*entry, wire::kFiltersVariable)) set_collectors_filters(count);
    if (const char* value = value_of(*entry, wire::kPreloadVariable)) note_agent(value);
    if (const char* value = value_of(*entry, wire::kEnabledVariable)) g_log_request.begins_off = equal(value, "0");
    if (const char* value = value_of(*entry, wire::kOutputVariable)) g_log_request.output = value;
    if (const char* value = value_of(*entry, wire::kCollectorVariable)) g_log_request.collector = value;
  }
  // The parent of the program is already recording it; a privileged program ignores the environment.
  const bool has_session = g_log_request.socket_name_bytes != 0;
  const char* const output = g_log_request.output;
  if (has_session || output == nullptr || *output == '\0' || told_by_kernel(AT_SECURE) != 0) {
    g_log_request.output = nullptr;
  }
}

namespace {

__attribute__((constructor(101))) void at_load(int, char**, char** environment) {
  read_environment();
  find_real_functions();
  (void)is_recording();
  if ((g_log_request.socket_name_bytes == 0 && g_log_request.output == nullptr) || environment == nullptr) return;
  if (g_log_request.output != nullptr) note_own_path();
  // Who set a variable in an earlier constructor has a copy of the list; the strings are the same.
  if (&environ != nullptr && environ != nullptr && environ != environment) clean_environment(environ);
  clean_environment(environment);
  g_log_request.output = nullptr;  // removed since
  g_log_request.collector = nullptr;
}

}  // namespace
}  // namespace heaptap::agent
