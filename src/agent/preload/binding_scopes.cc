#include "agent/preload/binding_scopes.h"

#include <linux/futex.h>

#include "agent/core/pages.h"
#include "agent/preload/control_block.h"
#include "agent/preload/loaded_objects.h"
#include "common/arch/native.h"

namespace heaptap::agent {
namespace {

constinit uintptr_t g_place = 0;  // offset of link_map::l_scope; 0: unknown
constinit bool g_knows_mark = false;

// glibc's private part of link_map (include/link.h, the same from 2.28 to 2.41) has in a row
//   struct r_scope_elem* l_scope_mem[4]; size_t l_scope_max; struct r_scope_elem** l_scope;
// As an object is loaded, l_scope_max is 4 and l_scope points to l_scope_mem, whose first entry is the program's scope. What
// comes before them differs from version to version.
constexpr size_t kScopesInside = 4;

bool is_program_scope(const Scope* scope, const link_map* first) {
  const uintptr_t distance = reinterpret_cast<uintptr_t>(scope) - reinterpret_cast<uintptr_t>(first);
  constexpr uintptr_t kLargestMap = 2048;
  return distance < kLargestMap && distance % sizeof(uintptr_t) == 0 && scope->count > 1 && scope->objects[0] == first;
}

// Not past the end of its page, after which there may be none.
uintptr_t place_in(const link_map& object, const link_map* first) {
  const auto start = reinterpret_cast<uintptr_t>(&object);
  const uintptr_t end = page_begin(start) + page_bytes();
  const auto* words = reinterpret_cast<const uintptr_t*>(start);
  const size_t count = (end - start) / sizeof(uintptr_t);
  for (size_t i = sizeof(link_map) / sizeof(uintptr_t) + kScopesInside + 1; i < count; ++i) {
    const uintptr_t* inside = &words[i - kScopesInside - 1];
    if (words[i] != reinterpret_cast<uintptr_t>(inside) || words[i - 1] != kScopesInside) continue;
    if (is_program_scope(reinterpret_cast<const Scope*>(*inside), first)) return i * sizeof(uintptr_t);
  }
  return 0;
}

const Scope* const* scopes_at(const link_map& object, uintptr_t place) {
  return __atomic_load_n(reinterpret_cast<const Scope* const* const*>(reinterpret_cast<uintptr_t>(&object) + place),
                         __ATOMIC_ACQUIRE);
}

// The agent is linked to search itself first, then the program's scope.
bool holds_for_agent(const link_map* first, uintptr_t place) {
  const link_map* agent = first;
  while (agent != nullptr && !is_agent(*agent)) agent = agent->l_next;
  if (agent == nullptr) return false;
  const Scope* const* scopes = scopes_at(*agent, place);
  for (size_t i = 0; i < kScopesInside && scopes[i] != nullptr; ++i) {
    if (is_program_scope(scopes[i], first)) return true;
  }
  return false;
}

// Whether the thread control block is known to have the layout of arch/…/thread.h.
bool is_known_version(const char* version) {
  constexpr uint32_t kFirst = 28;
  if (version == nullptr || version[0] != '2' || version[1] != '.') return false;
  uint32_t minor = 0;
  for (const char* at = version + 2; *at >= '0' && *at <= '9' && minor < 1000; ++at) {
    minor = minor * 10 + static_cast<uint32_t>(*at - '0');
  }
  return minor >= kFirst && minor <= arch::native::kLastGlibcMinor;
}

// As the loader does for its own searches (THREAD_GSCOPE_SET_FLAG and _RESET_FLAG).
class SearchMarked {
 public:
  // In a handler that interrupted one of the loader's searches the flag is set, and stays the loader's: a thread that
  // waits for its end may be marking it right now.
  SearchMarked() : mark_(*reinterpret_cast<uint32_t*>(control_block() + arch::native::kGlibcSearchMark)) {
    uint32_t none = 0;
    is_own_ = mark_.compare_exchange_strong(none, kSearches, std::memory_order_seq_cst);
  }
  ~SearchMarked() {
    if (is_own_ && mark_.exchange(0, std::memory_order_seq_cst) == kIsAwaited) wake();
  }
  SearchMarked(const SearchMarked&) = delete;
  SearchMarked& operator=(const SearchMarked&) = delete;

 private:
  static constexpr uint32_t kSearches = 1;
  static constexpr uint32_t kIsAwaited = 2;

  // Not by kernel.h: the other thread's dlclose waits for it, and the loader would make the same call.
  void wake() {
    const uintptr_t mark = control_block() + arch::native::kGlibcSearchMark;
    arch::native::system_call(__NR_futex, static_cast<long>(mark), FUTEX_WAKE_PRIVATE, 1);
  }
  std::atomic_ref<uint32_t> mark_;
  bool is_own_;
};

struct Reading {
  void (*read)(void*);
  void* context;
};

int read_at_first(dl_phdr_info*, size_t, void* context) {
  const auto& reading = *static_cast<const Reading*>(context);
  reading.read(reading.context);
  return 1;
}

}  // namespace

void find_scopes(const char* libc_version) {
  g_knows_mark = is_known_version(libc_version) && control_block() != 0;
  const link_map* first = first_object();
  uintptr_t place = 0;
  for (const link_map* object = first; object != nullptr && place == 0; object = object->l_next) {
    place = place_in(*object, first);
  }
  if (place != 0 && holds_for_agent(first, place)) g_place = place;
}

const Scope* const* scopes_of(const link_map& object) { return g_place != 0 ? scopes_at(object, g_place) : nullptr; }

const Scope* program_scope() {
  const link_map* first = first_object();
  return first != nullptr && g_place != 0 ? *scopes_at(*first, g_place) : nullptr;
}

bool is_agent(const link_map& object) { return object.l_ld == _DYNAMIC; }

void read_scopes(void (*read)(void*), void* context) {
  if (g_knows_mark) {
    const SearchMarked marked;
    read(context);
  } else if (is_first_process()) {
    Reading reading{read, context};
    for_each_object(&read_at_first, &reading);
  } else {
    read(context);
  }
}

}  // namespace heaptap::agent
