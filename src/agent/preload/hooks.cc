// Allocation hooks, the preloaded library's exports: each function of common/wire/functions.def under its own name. A hook calls the real
// function, notes the event (a release before it happens, an allocation after), and returns the real one's result and errno.
#include <stddef.h>
#include <stdint.h>

#include "agent/core/mapping_calls.h"
#include "agent/core/pages.h"
#include "agent/core/recorder.h"
#include "agent/core/session.h"
#include "agent/core/streams.h"
#include "agent/core/string.h"
#include "agent/preload/call_site.h"
#include "agent/preload/late_functions.h"
#include "agent/preload/own_symbols.h"
#include "agent/preload/preload.h"
#include "agent/preload/real_functions.h"

namespace std {
struct nothrow_t;
enum class align_val_t : size_t;
}  // namespace std

extern "C" {
__attribute__((visibility("hidden"))) void* heaptap_guarded_call(void* function, uintptr_t a, uintptr_t b, uintptr_t c);

// An exception passes the guarded call.
__attribute__((visibility("hidden"), used)) void heaptap_guard_passed() { heaptap::agent::g_anchor.inside_real = 0; }

// See the Itanium C++ ABI, "Exception Handling", 1.6: called for frames that an exception passes.
__attribute__((visibility("hidden"))) int heaptap_guard_personality(int, int actions, uint64_t, void*, void*) {
  constexpr int kCleanupPhase = 2;
  constexpr int kContinueUnwind = 8;
  if ((actions & kCleanupPhase) != 0) heaptap_guard_passed();
  return kContinueUnwind;
}
}

namespace heaptap::agent {
namespace {

using wire::Function;
using wire::RecordKind;

inline bool watches_cpp() { return (g_session.flags & wire::kNoCpp) == 0 && !g_real.splits_cpp; }

// Code whose calls need a look: steps of real functions, see observes(), and the loader's, which tell of its changes.
inline __attribute__((always_inline)) bool needs_look(const void* caller) {
  const auto address = reinterpret_cast<uintptr_t>(caller);
  return g_real.around.holds(address) &&
         (g_real.allocator.holds(address) || g_real.cpp.holds(address) || g_real.loader.holds(address));
}

// Of a process that is recorded, and whose thread isn't within a real function.
inline __attribute__((always_inline)) bool may_pass_by(const void* caller) {
  return g_session_page.state.load(std::memory_order_relaxed) == SessionState::kRecording &&
         g_anchor.inside_real == 0 && !needs_look(caller);
}

// Whether the call of an allocation is done when the real function returns: the way of nearly all where blocks are sampled, which
// is asked first. Counts it, as one that succeeds: few others are of so small blocks.
inline __attribute__((always_inline)) bool passes_by(size_t size, const void* caller) {
  return g_anchor.sample_left > size && may_pass_by(caller) && Sampler::passes_by(g_anchor, size);
}
inline __attribute__((always_inline)) bool passes_by_release(const void* block, const void* caller) {
  return g_session.is_sampled && block != nullptr && !is_early(block) && may_pass_by(caller) &&
         g_session.sampler.passes_by_release(g_anchor, reinterpret_cast<uintptr_t>(block));
}
// The same of operator new and delete, where these are malloc and free.
inline bool are_cpp_plain() { return g_real.standard_cpp && watches_cpp(); }
inline __attribute__((always_inline)) bool new_passes_by(size_t size, const void* caller) {
  return g_anchor.sample_left > size && are_cpp_plain() && passes_by(size, caller);
}
inline __attribute__((always_inline)) bool delete_passes_by(const void* block, const void* caller) {
  return g_session.is_sampled && are_cpp_plain() && passes_by_release(block, caller);
}

// Whether a real function is active below that may call others of the list. If its frame was left by longjmp, it isn't.
inline bool is_inside_real(const CallSite& site) {
  if (g_anchor.inside_real == 0) [[likely]]
    return false;
  if (site.bottom() < g_anchor.inside_real) return true;
  g_anchor.inside_real = 0;
  return false;
}

// Whether this call is an event: recording is on, and it isn't a real function's own call of another one.
inline bool observes(const CallSite& site) {
  if (!is_recording() || is_inside_real(site)) return false;
  if (!g_real.is_one_of_them(site.return_address())) [[likely]]
    return true;
  return g_real.cpp.holds(site.return_address()) && !watches_cpp();
}

// Releases the block. Its address is kept obfuscated during that, and isn't left in registers: callees, and what is called next, would leave it
// on the stack, where a leak scan takes it for a pointer to the block.
inline void* note_allocation(Function function, void* block, size_t size, const CallSite& site) {
  uintptr_t veiled = ~reinterpret_cast<uintptr_t>(block);
  __asm__("" : "+r"(veiled));
  record_allocation(g_anchor, function, reinterpret_cast<uintptr_t>(block), size, site);
  __asm__("" : "+r"(veiled));
  return reinterpret_cast<void*>(arch::native::clear_leftovers(~veiled));
}

// False: it isn't recorded, as its block wasn't.
inline bool note_release(Function function, const void* block, const CallSite& site) {
  const auto address = reinterpret_cast<uintptr_t>(block);
  if (g_session.is_sampled && !g_session.sampler.ends(g_anchor, address)) {
    if (g_session.loader_code.holds(site.return_address())) [[unlikely]]
      note_unrecorded_loader_call(g_anchor);
    return false;
  }
  record_release(g_anchor, function, address, site);
  return true;
}

// The release that was noted last didn't happen. `is_recorded`: as note_release() said.
inline void undo_release(Function function, const void* block, bool is_recorded, const CallSite& site) {
  const auto address = reinterpret_cast<uintptr_t>(block);
  if (g_session.is_sampled) g_session.sampler.undo(g_anchor, address, is_recorded);
  if (is_recorded) record(g_anchor, {RecordKind::kUndo, function, address, 0, 0}, site);
}

// While it lives, nested calls of functions in the list aren't events: for real functions whose code range is unknown.
class InsideReal {
 public:
  explicit InsideReal(const CallSite& site) : before_(g_anchor.inside_real) { g_anchor.inside_real = site.bottom(); }
  ~InsideReal() { g_anchor.inside_real = before_; }
  InsideReal(const InsideReal&) = delete;
  InsideReal& operator=(const InsideReal&) = delete;

 private:
  uintptr_t before_;
};

// The real function, looked up now if necessary. Null: the loader isn't ready, or no object defines it.
template <typename Signature>
inline Signature* get(Function function) {
  if (auto* known = real<Signature>(function)) [[likely]]
    return known;
  read_environment();
  return find_real_functions() ? real<Signature>(function) : nullptr;
}

using Allocate = void*(size_t);
using AllocateMany = void*(size_t, size_t);
using Reallocate = void*(void*, size_t);
using Release = void(void*);

void* zeroed(void* block, size_t bytes) {
  if (block != nullptr) __builtin_memset(block, 0, bytes);
  return block;
}

// Moves a block allocated before real functions could be called.
void* reallocate_early(void* block, size_t size) {
  auto* allocate = get<Allocate>(Function::kMalloc);
  void* moved = allocate != nullptr ? allocate(size) : early_allocate(16, size);
  if (moved != nullptr) copy_bytes(moved, block, early_size(block) < size ? early_size(block) : size);
  return moved;
}

// Notes both halves of a reallocation around `call`, which does it.
template <typename Call>
inline void* reallocate(Function function, void* block, size_t size, const CallSite& site, const Call& call) {
  if (!observes(site)) return call();
  const bool is_noted = block != nullptr && note_release(function, block, site);
  void* result = call();
  if (result != nullptr) {
    return note_allocation(function, result, size, site);
  }
  if (block != nullptr && size != 0) undo_release(function, block, is_noted, site);
  return result;
}

// memalign and similar functions: `call` allocates.
template <typename Call>
inline void* allocate_aligned(Function function, size_t size, const CallSite& site, const Call& call) {
  if (!observes(site)) return call();
  void* result = call();
  if (result != nullptr) return note_allocation(function, result, size, site);
  return result;
}

// The same for a release. None that returns into operator new is a step of it: at the end of a catch clause in there each function may
// jump to the next, so that the exception's own release returns to where the clause ended.
inline bool observes_release(const CallSite& site) {
  if (observes(site)) [[likely]]
    return true;
  return is_recording() && !is_inside_real(site) && g_real.is_within_new(site.return_address());
}

// free and similar functions: all call the real free after the release is noted.
inline void release(Function function, void* block, const CallSite& site) {
  if (is_early(block)) [[unlikely]]
    return;
  if (block != nullptr) {
    if (observes_release(site)) [[likely]] {
      note_release(function, block, site);
    } else if (g_real.loader.holds(site.return_address())) {
      note_loader_call();
    }
  }
  if (auto* call = get<Release>(Function::kFree)) call(block);
}

// The first step of the C++ library's operator new. `alignment` 0: the form without one.
inline void* allocate_as_standard(size_t size, size_t alignment) {
  if (size == 0) size = 1;
  if (alignment == 0) {
    auto* allocate = get<Allocate>(Function::kMalloc);
    return allocate != nullptr ? allocate(size) : early_allocate(16, size);
  }
  if (alignment < sizeof(void*)) alignment = sizeof(void*);
  auto* allocate = get<AllocateMany>(Function::kAlignedAlloc);
  const size_t rounded = (size + alignment - 1) & ~(alignment - 1);
  const bool is_valid = (alignment & (alignment - 1)) == 0 && rounded >= size && allocate != nullptr;
  return is_valid ? allocate(alignment, rounded) : nullptr;
}

// The function that CallsLate calls; 0: none.
__attribute__((tls_model("initial-exec"))) __thread uintptr_t g_late_callee;

// While it lives, a function is called that not all callers have in common. The C++ library's forms go over into each other by a
// jump: the hook of the next one then returns to the agent, and the form that it gets is that of this function's object.
class CallsLate {
 public:
  explicit CallsLate(const void* function) : before_(g_late_callee) {
    g_late_callee = reinterpret_cast<uintptr_t>(function);
  }
  ~CallsLate() { g_late_callee = before_; }
  CallsLate(const CallsLate&) = delete;
  CallsLate& operator=(const CallsLate&) = delete;

 private:
  uintptr_t before_;
};

// The form of operator new or delete that this caller would have been bound to.
inline LateFunction find_cpp(Function function, uintptr_t caller) {
  auto* known = real<void()>(function);
  if (known == nullptr && !g_real.searched) known = get<void()>(function);
  if (known != nullptr) [[likely]]
    return {reinterpret_cast<void*>(known), g_real.standard_cpp, false};
  if (!g_real.searched) return {nullptr, false, false};
  return find_late_function(function, platform::own_code().holds(caller) ? g_late_callee : caller);
}

// operator new: the C++ library's is malloc with a new_handler, so malloc alone does while there is memory; when memory is
// short it is called as it is, and its own calls of malloc are told by where they come from. Any other operator new is
// called under a guard, which an exception may pass.
inline void* allocate_new(Function function, size_t size, uintptr_t b, uintptr_t c, size_t alignment,
                          const CallSite& site) {
  using New = void*(size_t, uintptr_t, uintptr_t);
  const LateFunction real_new = find_cpp(function, site.return_address());
  auto* call = reinterpret_cast<New*>(real_new.function);
  const bool is_event = observes(site) && watches_cpp();
  if (!is_event && call != nullptr) {
    if (!real_new.is_late) return call(size, b, c);
    const CallsLate late(real_new.function);
    return heaptap_guarded_call(real_new.function, size, b, c);
  }
  void* block = real_new.standard || call == nullptr ? allocate_as_standard(size, alignment) : nullptr;
  if (block == nullptr && call != nullptr) {
    if (g_real.cpp.holds(reinterpret_cast<uintptr_t>(call))) {
      block = call(size, b, c);
    } else {
      const InsideReal inside(site);
      const CallsLate late(real_new.function);
      block = heaptap_guarded_call(real_new.function, size, b, c);
    }
  }
  if (block != nullptr && is_event) return note_allocation(function, block, size, site);
  return block;
}

inline void release_new(Function function, void* block, uintptr_t b, uintptr_t c, const CallSite& site) {
  if (is_early(block)) return;
  using Delete = void(void*, uintptr_t, uintptr_t);
  const LateFunction real_delete = find_cpp(function, site.return_address());
  auto* call = reinterpret_cast<Delete*>(real_delete.function);
  const bool is_event = observes(site) && watches_cpp();
  if (is_event && block != nullptr) note_release(function, block, site);
  if (call == nullptr || (is_event && real_delete.standard)) {
    if (auto* free_block = get<Release>(Function::kFree)) free_block(block);
  } else if (is_event) {
    const InsideReal inside(site);
    const CallsLate late(real_delete.function);
    call(block, b, c);
  } else if (real_delete.is_late) {
    const CallsLate late(real_delete.function);
    call(block, b, c);
  } else {
    call(block, b, c);
  }
}

// The allocator's own calls aren't the program's.
inline bool observes_mapping(const CallSite& site) {
  return observes(site) && !g_real.allocator.holds(site.return_address());
}

// Whether the thread has its own thread-local memory made by the C library: in children that share the memory it may be
// another thread's.
inline bool has_own_thread_area() {
  if (g_session_page.state.load(std::memory_order_relaxed) != SessionState::kRecording) return false;
  return g_session.knows_thread_place ? platform::thread_number_in_block() != 0
                                      : kernel::process_id() == g_session.process;
}

// mprotect and similar functions: `call` does it.
template <typename Call>
inline int protect(Function function, const void* start, size_t bytes, int protection, const CallSite& site,
                   const Call& call) {
  if (!has_own_thread_area()) return call();
  const auto observes = [&site] { return observes_mapping(site); };
  return protect_memory(g_anchor, function, start, bytes, protection, site, observes, call);
}

// `Offset`: of mmap or of mmap64, another one on CPUs of 32 bits.
template <typename Offset>
inline void* map(Function function, void* start, size_t bytes, int protection, int flags, int descriptor, Offset offset,
                 const CallSite& site) {
  auto* real_map = get<void*(void*, size_t, int, int, int, Offset)>(function);
  if (real_map == nullptr) {
    const long result = kernel::call_for_program(arch::native::kMapCall, reinterpret_cast<long>(start),
                                                 static_cast<long>(bytes), protection, flags, descriptor,
                                                 static_cast<long>(offset / arch::native::kMapOffsetUnit));
    return kernel::failed(result) ? kMapFailed : reinterpret_cast<void*>(result);
  }
  const auto observes = [&site] { return observes_mapping(site); };
  return map_memory(g_anchor, function, start, bytes, protection, flags, site, observes,
                    [&] { return real_map(start, bytes, protection, flags, descriptor, offset); });
}

}  // namespace
}  // namespace heaptap::agent

using namespace heaptap::agent;

// The most frequent hooks are two functions each: the first one has no frame, and goes over into the second one by a jump, whose call
// site is therefore its own.
#define HEAPTAP_REST static __attribute__((noinline))

HEAPTAP_REST void* malloc_rest(size_t size) {
  auto* allocate = get<Allocate>(Function::kMalloc);
  if (allocate == nullptr) [[unlikely]]
    return early_allocate(16, size);
  void* block = allocate(size);
  const CallSite site = HEAPTAP_CALL_SITE();
  if (block != nullptr && observes(site)) [[likely]]
    return note_allocation(Function::kMalloc, block, size, site);
  return block;
}

HEAPTAP_EXPORT void* malloc(size_t size) {
  if (passes_by(size, __builtin_return_address(0))) return real<Allocate>(Function::kMalloc)(size);
  return malloc_rest(size);
}

HEAPTAP_EXPORT void* calloc(size_t count, size_t size) {
  auto* allocate = get<AllocateMany>(Function::kCalloc);
  size_t bytes = 0;
  const bool overflow = __builtin_mul_overflow(count, size, &bytes);
  if (allocate == nullptr) [[unlikely]]
    return overflow ? nullptr : zeroed(early_allocate(16, bytes), bytes);
  void* block = allocate(count, size);
  const CallSite site = HEAPTAP_CALL_SITE();
  if (block != nullptr && observes(site)) [[likely]]
    return note_allocation(Function::kCalloc, block, bytes, site);
  return block;
}

HEAPTAP_EXPORT void* realloc(void* block, size_t size) {
  if (is_early(block)) [[unlikely]]
    return reallocate_early(block, size);
  auto* call = get<Reallocate>(Function::kRealloc);
  if (call == nullptr) [[unlikely]]
    return early_allocate(16, size);
  return reallocate(Function::kRealloc, block, size, HEAPTAP_CALL_SITE(), [&] { return call(block, size); });
}

HEAPTAP_EXPORT void* reallocarray(void* block, size_t count, size_t size) {
  auto* call = get<void*(void*, size_t, size_t)>(Function::kReallocarray);
  size_t bytes = 0;
  const bool overflow = __builtin_mul_overflow(count, size, &bytes);
  if (is_early(block) && !overflow) [[unlikely]]
    return reallocate_early(block, bytes);
  if (call == nullptr) [[unlikely]]
    return overflow ? nullptr : realloc(block, bytes);
  const CallSite site = HEAPTAP_CALL_SITE();
  return reallocate(Function::kReallocarray, block, overflow ? SIZE_MAX : bytes, site, [&] {
    // It calls realloc by a jump, so that this looks like the program's call.
    const InsideReal inside(site);
    return call(block, count, size);
  });
}

HEAPTAP_REST void free_rest(void* block) { release(Function::kFree, block, HEAPTAP_CALL_SITE()); }

HEAPTAP_EXPORT void free(void* block) {
  if (passes_by_release(block, __builtin_return_address(0))) return real<Release>(Function::kFree)(block);
  free_rest(block);
}

// Only for programs that were linked before glibc 2.26. It can't be hidden from others: a library with versions of its own
// would no longer stand in front of malloc@GLIBC_2.2.5.
HEAPTAP_EXPORT void cfree(void* block) { release(Function::kCfree, block, HEAPTAP_CALL_SITE()); }

// A program may test for these functions, so they exist only if the C library has them.
#ifdef HEAPTAP_HAS_FREE_SIZED
HEAPTAP_EXPORT void free_sized(void* block, size_t) { release(Function::kFreeSized, block, HEAPTAP_CALL_SITE()); }

HEAPTAP_EXPORT void free_aligned_sized(void* block, size_t, size_t) {
  release(Function::kFreeAlignedSized, block, HEAPTAP_CALL_SITE());
}
#endif

HEAPTAP_EXPORT int posix_memalign(void** result, size_t alignment, size_t size) {
  auto* call = get<int(void**, size_t, size_t)>(Function::kPosixMemalign);
  if (call == nullptr) [[unlikely]] {
    *result = early_allocate(alignment, size);
    return *result != nullptr ? 0 : 12 /* ENOMEM */;
  }
  int status = 0;
  allocate_aligned(Function::kPosixMemalign, size, HEAPTAP_CALL_SITE(), [&] {
    status = call(result, alignment, size);
    return status == 0 ? *result : nullptr;
  });
  return status;
}

HEAPTAP_EXPORT void* aligned_alloc(size_t alignment, size_t size) {
  auto* call = get<AllocateMany>(Function::kAlignedAlloc);
  if (call == nullptr) [[unlikely]]
    return early_allocate(alignment, size);
  return allocate_aligned(Function::kAlignedAlloc, size, HEAPTAP_CALL_SITE(), [&] { return call(alignment, size); });
}

HEAPTAP_EXPORT void* memalign(size_t alignment, size_t size) {
  auto* call = get<AllocateMany>(Function::kMemalign);
  if (call == nullptr) [[unlikely]]
    return early_allocate(alignment, size);
  return allocate_aligned(Function::kMemalign, size, HEAPTAP_CALL_SITE(), [&] { return call(alignment, size); });
}

HEAPTAP_EXPORT void* valloc(size_t size) {
  auto* call = get<Allocate>(Function::kValloc);
  if (call == nullptr) [[unlikely]]
    return early_allocate(page_bytes(), size);
  return allocate_aligned(Function::kValloc, size, HEAPTAP_CALL_SITE(), [&] { return call(size); });
}

HEAPTAP_EXPORT void* pvalloc(size_t size) {
  auto* call = get<Allocate>(Function::kPvalloc);
  if (call == nullptr) [[unlikely]]
    return early_allocate(page_bytes(), whole_pages(size));
  return allocate_aligned(Function::kPvalloc, size, HEAPTAP_CALL_SITE(), [&] { return call(size); });
}

// The forms of operator new: (enumerator, symbol, parameters, values of those behind the size, alignment).
#define HEAPTAP_NEW(enumerator, symbol, parameters, b, c, alignment_or_0)                       \
  HEAPTAP_EXPORT void* symbol parameters {                                                      \
    return allocate_new(Function::enumerator, size, b, c, alignment_or_0, HEAPTAP_CALL_SITE()); \
  }
#define HEAPTAP_USUAL_NEW(enumerator, symbol)                                      \
  HEAPTAP_REST void* enumerator##_rest(size_t size) {                              \
    return allocate_new(Function::enumerator, size, 0, 0, 0, HEAPTAP_CALL_SITE()); \
  }                                                                                \
  HEAPTAP_EXPORT void* symbol(size_t size) {                                       \
    if (new_passes_by(size, __builtin_return_address(0))) {                        \
      void* const block = real<Allocate>(Function::kMalloc)(size == 0 ? 1 : size); \
      if (block != nullptr) return block;                                          \
    }                                                                              \
    return enumerator##_rest(size);                                                \
  }
HEAPTAP_USUAL_NEW(kNew, _Znwm)
HEAPTAP_NEW(kNewNothrow, _ZnwmRKSt9nothrow_t, (size_t size, uintptr_t tag), tag, 0, 0)
HEAPTAP_NEW(kNewAligned, _ZnwmSt11align_val_t, (size_t size, uintptr_t alignment), alignment, 0, alignment)
HEAPTAP_NEW(kNewAlignedNothrow, _ZnwmSt11align_val_tRKSt9nothrow_t, (size_t size, uintptr_t alignment, uintptr_t tag),
            alignment, tag, alignment)
HEAPTAP_USUAL_NEW(kNewArray, _Znam)
HEAPTAP_NEW(kNewArrayNothrow, _ZnamRKSt9nothrow_t, (size_t size, uintptr_t tag), tag, 0, 0)
HEAPTAP_NEW(kNewArrayAligned, _ZnamSt11align_val_t, (size_t size, uintptr_t alignment), alignment, 0, alignment)
HEAPTAP_NEW(kNewArrayAlignedNothrow, _ZnamSt11align_val_tRKSt9nothrow_t,
            (size_t size, uintptr_t alignment, uintptr_t tag), alignment, tag, alignment)

#define HEAPTAP_DELETE(enumerator, symbol, parameters, b, c) \
  HEAPTAP_EXPORT void symbol parameters { release_new(Function::enumerator, block, b, c, HEAPTAP_CALL_SITE()); }
#define HEAPTAP_USUAL_DELETE(enumerator, symbol, parameters, b)                                             \
  HEAPTAP_REST void enumerator##_rest parameters {                                                          \
    release_new(Function::enumerator, block, b, 0, HEAPTAP_CALL_SITE());                                    \
  }                                                                                                         \
  HEAPTAP_EXPORT void symbol parameters {                                                                   \
    if (delete_passes_by(block, __builtin_return_address(0))) return real<Release>(Function::kFree)(block); \
    enumerator##_rest(block HEAPTAP_AND_##b);                                                               \
  }
#define HEAPTAP_AND_0
#define HEAPTAP_AND_size , size
HEAPTAP_USUAL_DELETE(kDelete, _ZdlPv, (void* block), 0)
HEAPTAP_DELETE(kDeleteNothrow, _ZdlPvRKSt9nothrow_t, (void* block, uintptr_t tag), tag, 0)
HEAPTAP_USUAL_DELETE(kDeleteSized, _ZdlPvm, (void* block, uintptr_t size), size)
HEAPTAP_DELETE(kDeleteAligned, _ZdlPvSt11align_val_t, (void* block, uintptr_t alignment), alignment, 0)
HEAPTAP_DELETE(kDeleteAlignedNothrow, _ZdlPvSt11align_val_tRKSt9nothrow_t,
               (void* block, uintptr_t alignment, uintptr_t tag), alignment, tag)
HEAPTAP_DELETE(kDeleteSizedAligned, _ZdlPvmSt11align_val_t, (void* block, uintptr_t size, uintptr_t alignment), size,
               alignment)
HEAPTAP_USUAL_DELETE(kDeleteArray, _ZdaPv, (void* block), 0)
HEAPTAP_DELETE(kDeleteArrayNothrow, _ZdaPvRKSt9nothrow_t, (void* block, uintptr_t tag), tag, 0)
HEAPTAP_DELETE(kDeleteArraySized, _ZdaPvm, (void* block, uintptr_t size), size, 0)
HEAPTAP_DELETE(kDeleteArrayAligned, _ZdaPvSt11align_val_t, (void* block, uintptr_t alignment), alignment, 0)
HEAPTAP_DELETE(kDeleteArrayAlignedNothrow, _ZdaPvSt11align_val_tRKSt9nothrow_t,
               (void* block, uintptr_t alignment, uintptr_t tag), alignment, tag)
HEAPTAP_DELETE(kDeleteArraySizedAligned, _ZdaPvmSt11align_val_t, (void* block, uintptr_t size, uintptr_t alignment),
               size, alignment)

HEAPTAP_EXPORT void* mmap(void* start, size_t bytes, int protection, int flags, int descriptor, long offset) {
  return map(Function::kMmap, start, bytes, protection, flags, descriptor, offset, HEAPTAP_CALL_SITE());
}

HEAPTAP_EXPORT void* mmap64(void* start, size_t bytes, int protection, int flags, int descriptor, int64_t offset) {
  return map(Function::kMmap64, start, bytes, protection, flags, descriptor, offset, HEAPTAP_CALL_SITE());
}

HEAPTAP_EXPORT int munmap(void* start, size_t bytes) {
  auto* call = get<int(void*, size_t)>(Function::kMunmap);
  if (call == nullptr) [[unlikely]] {
    const long result = kernel::call_for_program(__NR_munmap, reinterpret_cast<long>(start), static_cast<long>(bytes));
    return kernel::failed(result) ? -1 : 0;
  }
  const CallSite site = HEAPTAP_CALL_SITE();
  const auto observes = [&site] { return observes_mapping(site); };
  return unmap_memory(g_anchor, start, bytes, site, observes, [&] { return call(start, bytes); });
}

HEAPTAP_EXPORT void* mremap(void* old, size_t old_bytes, size_t bytes, int flags, ...) {
  constexpr int kFixed = 2;
  constexpr int kDontUnmap = 4;
  __builtin_va_list rest;
  __builtin_va_start(rest, flags);
  void* wanted = (flags & (kFixed | kDontUnmap)) != 0 ? __builtin_va_arg(rest, void*) : nullptr;
  __builtin_va_end(rest);
  auto* call = get<void*(void*, size_t, size_t, int, void*)>(Function::kMremap);
  if (call == nullptr) [[unlikely]]
    return kMapFailed;
  const CallSite site = HEAPTAP_CALL_SITE();
  const auto observes = [&site] { return observes_mapping(site); };
  return remap_memory(g_anchor, old, old_bytes, bytes, flags, wanted, site, observes,
                      [&] { return call(old, old_bytes, bytes, flags, wanted); });
}

HEAPTAP_EXPORT int mprotect(void* start, size_t bytes, int protection) {
  return protect(Function::kMprotect, start, bytes, protection, HEAPTAP_CALL_SITE(), [&] {
    if (auto* call = get<int(void*, size_t, int)>(Function::kMprotect)) return call(start, bytes, protection);
    const long result =
        kernel::call_for_program(__NR_mprotect, reinterpret_cast<long>(start), static_cast<long>(bytes), protection);
    return kernel::failed(result) ? -1 : 0;
  });
}

HEAPTAP_EXPORT int pkey_mprotect(void* start, size_t bytes, int protection, int key) {
  return protect(Function::kPkeyMprotect, start, bytes, protection, HEAPTAP_CALL_SITE(), [&] {
    auto* call = get<int(void*, size_t, int, int)>(Function::kPkeyMprotect);
    return call != nullptr ? call(start, bytes, protection, key) : -1;
  });
}
