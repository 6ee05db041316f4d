/* What a program may tell heaptap of itself while it is recorded, and ask of it: marks, tags, pools of its own, names of blocks,
 * resources that aren't memory; recording off and on; a report or a leak scan at a place that the program chooses.
 * C89 (with stdint.h) and later, C++98 and later.
 *
 * A program needs this header alone. Its functions are found where a recording is there (`heaptap run`, or the agent preloaded);
 * where none is, each call is a load, a test and a branch: nothing is linked, nothing is looked up, nothing is allocated.
 * Arguments are evaluated in either case, so that the program does the same with and without a recording.
 *
 * Before it is included one of these may be defined:
 *   HEAPTAP_DISABLED        all calls are compiled away (arguments are evaluated still). So it is where there are no weak ELF
 *                           symbols: without GCC or clang, and on other systems.
 *   HEAPTAP_STUBS           calls go to the functions as to any others: the program is linked with libheaptap, or has
 *                           heaptap_stubs.c among its sources. Static programs need this, and those that are to be recorded by
 *                           ptrace (`heaptap attach`, `--via ptrace`), which sees only functions that are there. In a dynamic
 *                           program take libheaptap.so: functions that are part of the program itself come before those of
 *                           an agent, which then never hears of a call.
 *   HEAPTAP_IMPLEMENTATION  declarations alone, for who defines these functions.
 *
 * Unless a function's comment says something else:
 *   threads    any thread may call it at any time, also while others do.
 *   signals    signal handlers may call it, whatever they interrupted.
 *   errors     none are told: a call that can't be recorded does nothing, and the recording counts what it left out. errno stays
 *              as it is. Null and unknown addresses, numbers of pools that never were, and calls that don't fit (a pop without a
 *              push) are harmless.
 *   names      are texts that end with a zero byte; null is the empty one. They are copied before the function returns. Longer
 *              ones are cut: marks and names of blocks after 248 bytes, others after 112.
 *   cost       while nothing is recorded some nanoseconds; else that of a malloc that is recorded.
 *
 * Who can't include it (another language, a plugin that is loaded) finds the same functions by dlsym(RTLD_DEFAULT, "heaptap_mark")
 * and so on; null: nothing records. These names, and the arguments that belong to them, stay for good: a function that has to
 * take others gets a new name.
 *
 * The functions are macros over inline functions: they are called, and have no address to pass on. Write a function of your own
 * where a callback is wanted. A child of a fork that isn't recorded itself goes on as a program that nobody records. */
#ifndef HEAPTAP_HEAPTAP_H
#define HEAPTAP_HEAPTAP_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

/* Of this header. heaptap_api_version() is that of what records. A later version adds functions and changes none. */
#define HEAPTAP_API_VERSION 1

/* A pool of blocks that the program allocates itself: an arena, a slab, a region of a garbage collector. 0: not recorded; all
 * functions take it, and do nothing. */
typedef uint64_t heaptap_pool;

/* A kind of things that are opened and closed: descriptors, handles, textures, connections. 0: not recorded. */
typedef uint64_t heaptap_resource;

/* What a leak scan found, in blocks and bytes, by Valgrind's terms. */
typedef struct heaptap_scan_counts { /* NOLINT(readability-identifier-naming): C */
  size_t struct_bytes;               /* set by the caller: sizeof(heaptap_scan_counts). No more is written than that */
  uint64_t definite_blocks, definite_bytes;   /* no pointer leads to them */
  uint64_t indirect_blocks, indirect_bytes;   /* pointers of lost blocks alone lead to them */
  uint64_t possible_blocks, possible_bytes;   /* only pointers that may be chance lead to them */
  uint64_t reachable_blocks, reachable_bytes; /* all others that are known */
  uint64_t unknown_blocks,
      unknown_bytes; /* not known whether they are still live, see the scan's notes in the report */
} heaptap_scan_counts;

#if !defined(HEAPTAP_DISABLED) && (!defined(__GNUC__) || !defined(__ELF__))
#define HEAPTAP_DISABLED
#endif

#ifdef __cplusplus
extern "C" {
#endif

#ifndef HEAPTAP_DISABLED

#if defined(HEAPTAP_STUBS) || defined(HEAPTAP_IMPLEMENTATION)
#define HEAPTAP_FUNCTION __attribute__((__nothrow__, __visibility__("default")))
#else
#define HEAPTAP_FUNCTION __attribute__((__nothrow__, __visibility__("default"), __weak__))
#endif

/* The version of the API that is there: 1. 0: none is. */
HEAPTAP_FUNCTION int heaptap_api_version(void);

/* Switches recording of this process on and off again, for all its threads. They don't nest. While it is off, nothing is seen of
 * what is allocated, and of releases those of blocks that were recorded before, without the place where they were made. So of
 * what was recorded it is known what is alive and what is lost. A block that was allocated meanwhile stays unknown, also where it is
 * released later; the recording says that there may be such. */
HEAPTAP_FUNCTION void heaptap_enable(void);
HEAPTAP_FUNCTION void heaptap_disable(void);

/* 1 while events of this process are recorded; 0: nothing records, or it is switched off. (The stubs themselves say 0: a
 * tracer that watches them puts its answer in that place.) */
HEAPTAP_FUNCTION int heaptap_is_recording(void);

/* Names this moment. Views take it: `heaptap show --from NAME --to NAME`, `heaptap diff --from NAME --to NAME`. A name may
 * come again. Not for each request: each mark is kept in the recording, and looked at by each view. */
HEAPTAP_FUNCTION void heaptap_mark(const char* name);

/* What this thread allocates from now on carries the tag, until it is popped: a request, a phase, a tenant. Tags nest
 * ("request/parse"), 64 deep; those that are pushed deeper are counted, and so popped rightly. Each thread begins without tags,
 * so does a forked child that has another thread. Names are kept once: use names of kinds, not of single requests (a recording
 * has place for 4,095 different paths of tags, with and without pools in them). Signal handlers may push what they pop again. */
HEAPTAP_FUNCTION void heaptap_push_tag(const char* name);
HEAPTAP_FUNCTION void heaptap_pop_tag(void);

/* Writes what is live now to a file, as text in the form memlog: the first report has all of it, each later one what changed since
 * the one before. The program opens the file, with its own rights and from its own working directory; one that is there is
 * overwritten.
 * Returns 0, or an errno value: ENOTSUP where nothing records (or, by ptrace, where heaptap has other rights than the program), EINVAL for
 * no path or one that is too long, ETIMEDOUT where heaptap didn't answer within two minutes (the report may still come), EIO where
 * it couldn't write it, or why the file couldn't be opened.
 * Waits until it is done: some milliseconds, and more for each million events since the report before. Not in signal handlers,
 * and not with locks held that others wait for. */
HEAPTAP_FUNCTION int heaptap_report(const char* path);

/* A leak scan of this process, now; the recording has it. counts may be null; its struct_bytes has to be set before:
 *   heaptap_scan_counts counts = HEAPTAP_SCAN_COUNTS;
 * Returns 0, or an errno value: ENOTSUP, ETIMEDOUT and EIO as heaptap_report, ENOTSUP also with --aggregate, which keeps no blocks,
 * EPERM where heaptap may not look at the memory; *counts is untouched then. All threads are paused while the memory is read
 * (about a second for 5 GB). Not in signal handlers, and not with locks held that others wait for.  */
HEAPTAP_FUNCTION int heaptap_scan(heaptap_scan_counts* counts);

/* A new pool. Blocks of pools are listed and counted apart from the program's others, under the pool's name; memory that a pool
 * takes from malloc or mmap is recorded as always. Several pools may have the same name. 0: not recorded, or no place for one
 * more. Destroying a pool releases all blocks in it; its number isn't used again. */
HEAPTAP_FUNCTION heaptap_pool heaptap_pool_create(const char* name);
HEAPTAP_FUNCTION void heaptap_pool_destroy(heaptap_pool pool);

/* A block of a pool was allocated, is released, or was moved or resized (before or after may be null, and may be the same). An
 * address names one block at a time in a pool; that of a block that the program also has from malloc is another one. Call
 * heaptap_allocated when the block is there, and heaptap_released before its memory can be used again, so that no other thread's
 * block of the same address comes between. Sizes of 2^40 - 1 bytes and more count as that. */
HEAPTAP_FUNCTION void heaptap_allocated(heaptap_pool pool, const void* address, size_t size_bytes);
HEAPTAP_FUNCTION void heaptap_released(heaptap_pool pool, const void* address);
HEAPTAP_FUNCTION void heaptap_reallocated(heaptap_pool pool, const void* before, const void* after, size_t size_bytes);

/* Gives a live block (of malloc, operator new, …) a name, which lists of blocks show in place of its address alone. A later name
 * takes the place of an earlier one; it ends with the block. */
HEAPTAP_FUNCTION void heaptap_name_block(const void* block, const char* name);

/* A kind of resource. What is opened and not closed is listed at the end like live blocks, with amount in place of bytes (1 where
 * there is no better measure). number is the resource's own: a descriptor, a handle. */
HEAPTAP_FUNCTION heaptap_resource heaptap_resource_create(const char* name);
HEAPTAP_FUNCTION void heaptap_opened(heaptap_resource kind, uint64_t number, uint64_t amount);
HEAPTAP_FUNCTION void heaptap_closed(heaptap_resource kind, uint64_t number);

#undef HEAPTAP_FUNCTION
#endif /* HEAPTAP_DISABLED */

#ifdef __cplusplus
}
#endif

/* To initialise heaptap_scan_counts with. */
#define HEAPTAP_SCAN_COUNTS {sizeof(heaptap_scan_counts), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

/* From here on: how the calls are made. */
#if defined(HEAPTAP_DISABLED) || !(defined(HEAPTAP_STUBS) || defined(HEAPTAP_IMPLEMENTATION))

#if defined(__GNUC__)
#define HEAPTAP_CALLER static __inline__ __attribute__((__always_inline__, __artificial__, __unused__))
#elif defined(__cplusplus) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 199901L)
#define HEAPTAP_CALLER static inline
#else
#define HEAPTAP_CALLER static
#endif

#if !defined(HEAPTAP_DISABLED)
/* In code that isn't position-independent the address of a weak function is a number that the linker decides on: 0, for good. Only
 * a place in the global offset table leaves it to the loader, which knows of an agent. Position-independent code has that place
 * by itself. (i386 has addresses relative to the table only, and learns its own by a call.) On other CPUs than these a program
 * that is not position-independent finds no agent. */
#if defined(__PIC__) || defined(__PIE__)
#define HEAPTAP_LOAD_ADDRESS(found, function) ((found) = (function))
#elif defined(__x86_64__) && defined(__LP64__)
#define HEAPTAP_LOAD_ADDRESS(found, function) \
  __asm__("{movq %P1@GOTPCREL(%%rip), %0|mov %0, qword ptr %P1@GOTPCREL[rip]}" : "=r"(found) : "i"(function))
#elif defined(__i386__)
#define HEAPTAP_LOAD_ADDRESS(found, function)                                                      \
  __asm__("call 1f\n1:\tpopl %0\n\taddl $_GLOBAL_OFFSET_TABLE_+(.-1b), %0\n\tmovl %P1@GOT(%0), %0" \
          : "=&r"(found)                                                                           \
          : "i"(function)                                                                          \
          : "cc")
#elif defined(__aarch64__) && defined(__LP64__)
#define HEAPTAP_LOAD_ADDRESS(found, function) \
  __asm__("adrp %0, :got:%c1\n\tldr %0, [%0, :got_lo12:%c1]" : "=r"(found) : "S"(function))
#else
#define HEAPTAP_LOAD_ADDRESS(found, function) ((found) = (function))
#endif
#endif

#if defined(HEAPTAP_DISABLED)
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif
#define HEAPTAP_IF_FOUND(function, call) ((void)0)
#define HEAPTAP_RETURN_FOUND(function, call, otherwise) return otherwise
#else
#define HEAPTAP_IF_FOUND(function, call)  \
  __typeof__(&(function)) found_;         \
  HEAPTAP_LOAD_ADDRESS(found_, function); \
  if (found_) found_ call
#define HEAPTAP_RETURN_FOUND(function, call, otherwise) \
  __typeof__(&(function)) found_;                       \
  HEAPTAP_LOAD_ADDRESS(found_, function);               \
  return found_ ? found_ call : (otherwise)
#endif

HEAPTAP_CALLER int heaptap_call_api_version(void) { HEAPTAP_RETURN_FOUND(heaptap_api_version, (), 0); }
HEAPTAP_CALLER void heaptap_call_enable(void) { HEAPTAP_IF_FOUND(heaptap_enable, ()); }
HEAPTAP_CALLER void heaptap_call_disable(void) { HEAPTAP_IF_FOUND(heaptap_disable, ()); }
HEAPTAP_CALLER int heaptap_call_is_recording(void) { HEAPTAP_RETURN_FOUND(heaptap_is_recording, (), 0); }
HEAPTAP_CALLER void heaptap_call_mark(const char* name_) { HEAPTAP_IF_FOUND(heaptap_mark, (name_)); }
HEAPTAP_CALLER void heaptap_call_push_tag(const char* name_) { HEAPTAP_IF_FOUND(heaptap_push_tag, (name_)); }
HEAPTAP_CALLER void heaptap_call_pop_tag(void) { HEAPTAP_IF_FOUND(heaptap_pop_tag, ()); }
HEAPTAP_CALLER int heaptap_call_report(const char* path_) { HEAPTAP_RETURN_FOUND(heaptap_report, (path_), ENOTSUP); }
HEAPTAP_CALLER int heaptap_call_scan(heaptap_scan_counts* counts_) {
  HEAPTAP_RETURN_FOUND(heaptap_scan, (counts_), ENOTSUP);
}
HEAPTAP_CALLER heaptap_pool heaptap_call_pool_create(const char* name_) {
  HEAPTAP_RETURN_FOUND(heaptap_pool_create, (name_), 0);
}
HEAPTAP_CALLER void heaptap_call_pool_destroy(heaptap_pool pool_) { HEAPTAP_IF_FOUND(heaptap_pool_destroy, (pool_)); }
HEAPTAP_CALLER void heaptap_call_allocated(heaptap_pool pool_, const void* address_, size_t size_bytes_) {
  HEAPTAP_IF_FOUND(heaptap_allocated, (pool_, address_, size_bytes_));
}
HEAPTAP_CALLER void heaptap_call_released(heaptap_pool pool_, const void* address_) {
  HEAPTAP_IF_FOUND(heaptap_released, (pool_, address_));
}
HEAPTAP_CALLER void heaptap_call_reallocated(heaptap_pool pool_, const void* before_, const void* after_,
                                             size_t size_bytes_) {
  HEAPTAP_IF_FOUND(heaptap_reallocated, (pool_, before_, after_, size_bytes_));
}
HEAPTAP_CALLER void heaptap_call_name_block(const void* block_, const char* name_) {
  HEAPTAP_IF_FOUND(heaptap_name_block, (block_, name_));
}
HEAPTAP_CALLER heaptap_resource heaptap_call_resource_create(const char* name_) {
  HEAPTAP_RETURN_FOUND(heaptap_resource_create, (name_), 0);
}
HEAPTAP_CALLER void heaptap_call_opened(heaptap_resource kind_, uint64_t number_, uint64_t amount_) {
  HEAPTAP_IF_FOUND(heaptap_opened, (kind_, number_, amount_));
}
HEAPTAP_CALLER void heaptap_call_closed(heaptap_resource kind_, uint64_t number_) {
  HEAPTAP_IF_FOUND(heaptap_closed, (kind_, number_));
}

#if defined(HEAPTAP_DISABLED) && defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
#undef HEAPTAP_IF_FOUND
#undef HEAPTAP_RETURN_FOUND
#undef HEAPTAP_LOAD_ADDRESS
#undef HEAPTAP_CALLER

#define heaptap_api_version() heaptap_call_api_version()
#define heaptap_enable() heaptap_call_enable()
#define heaptap_disable() heaptap_call_disable()
#define heaptap_is_recording() heaptap_call_is_recording()
#define heaptap_mark(name) heaptap_call_mark(name)
#define heaptap_push_tag(name) heaptap_call_push_tag(name)
#define heaptap_pop_tag() heaptap_call_pop_tag()
#define heaptap_report(path) heaptap_call_report(path)
#define heaptap_scan(counts) heaptap_call_scan(counts)
#define heaptap_pool_create(name) heaptap_call_pool_create(name)
#define heaptap_pool_destroy(pool) heaptap_call_pool_destroy(pool)
#define heaptap_allocated(pool, address, size_bytes) heaptap_call_allocated(pool, address, size_bytes)
#define heaptap_released(pool, address) heaptap_call_released(pool, address)
#define heaptap_reallocated(pool, before, after, size_bytes) heaptap_call_reallocated(pool, before, after, size_bytes)
#define heaptap_name_block(block, name) heaptap_call_name_block(block, name)
#define heaptap_resource_create(name) heaptap_call_resource_create(name)
#define heaptap_opened(kind, number, amount) heaptap_call_opened(kind, number, amount)
#define heaptap_closed(kind, number) heaptap_call_closed(kind, number)

#endif /* how the calls are made */

#if defined(__cplusplus) && !defined(HEAPTAP_IMPLEMENTATION)

#if __cplusplus >= 201103L
#define HEAPTAP_NOEXCEPT noexcept
#define HEAPTAP_DELETED = delete
#else
#define HEAPTAP_NOEXCEPT throw()
#define HEAPTAP_DELETED
#endif

namespace heaptap {

/* A namespace for each way of calling: files of a program may be compiled in different ones. */
#if defined(HEAPTAP_DISABLED)
namespace disabled {
#elif defined(HEAPTAP_STUBS)
namespace linked {
#else
namespace found {
#endif

inline void enable() HEAPTAP_NOEXCEPT { heaptap_enable(); }
inline void disable() HEAPTAP_NOEXCEPT { heaptap_disable(); }
inline bool is_recording() HEAPTAP_NOEXCEPT { return heaptap_is_recording() != 0; }
inline void mark(const char* name_) HEAPTAP_NOEXCEPT { heaptap_mark(name_); }
inline int report(const char* path_) HEAPTAP_NOEXCEPT { return heaptap_report(path_); }
/* Of a scan that fails the counts are 0. */
inline int scan(heaptap_scan_counts& counts_) HEAPTAP_NOEXCEPT {
  const heaptap_scan_counts none = HEAPTAP_SCAN_COUNTS;
  counts_ = none;
  return heaptap_scan(&counts_);
}
inline void name_block(const void* block_, const char* name_) HEAPTAP_NOEXCEPT { heaptap_name_block(block_, name_); }

/* What this thread allocates while it exists carries the tag. On the stack of one thread; tags end in the opposite order, also by
 * exceptions. Not across a coroutine's suspension: another one may run in the thread meanwhile. */
class tag {
 public:
  explicit tag(const char* name_) HEAPTAP_NOEXCEPT { heaptap_push_tag(name_); }
  ~tag() { heaptap_pop_tag(); }

 private:
  tag(const tag&) HEAPTAP_DELETED;
  tag& operator=(const tag&) HEAPTAP_DELETED;
};

/* A pool that is destroyed with the object. */
class pool {
 public:
  explicit pool(const char* name_) HEAPTAP_NOEXCEPT : number(heaptap_pool_create(name_)) {}
  ~pool() { heaptap_pool_destroy(number); }
#if __cplusplus >= 201103L
  pool(pool&& other_) noexcept : number(other_.release()) {}
  pool& operator=(pool&& other_) noexcept {
    pool(static_cast<pool&&>(other_)).swap(*this);
    return *this;
  }
#endif
  void swap(pool& other_) HEAPTAP_NOEXCEPT {
    const heaptap_pool mine = number;
    number = other_.number;
    other_.number = mine;
  }

  void allocated(const void* address_, size_t size_bytes_) const HEAPTAP_NOEXCEPT {
    heaptap_allocated(number, address_, size_bytes_);
  }
  void released(const void* address_) const HEAPTAP_NOEXCEPT { heaptap_released(number, address_); }
  void reallocated(const void* before_, const void* after_, size_t size_bytes_) const HEAPTAP_NOEXCEPT {
    heaptap_reallocated(number, before_, after_, size_bytes_);
  }
  /* For the functions of C. */
  heaptap_pool get() const HEAPTAP_NOEXCEPT { return number; }
  /* The pool goes on without the object. */
  heaptap_pool release() HEAPTAP_NOEXCEPT {
    const heaptap_pool mine = number;
    number = 0;
    return mine;
  }

 private:
  pool(const pool&) HEAPTAP_DELETED;
  pool& operator=(const pool&) HEAPTAP_DELETED;
  heaptap_pool number;
};

/* A kind of resource, which has no end. */
class resource {
 public:
  explicit resource(const char* name_) HEAPTAP_NOEXCEPT : number(heaptap_resource_create(name_)) {}
  void opened(uint64_t number_, uint64_t amount_ = 1) const HEAPTAP_NOEXCEPT {
    heaptap_opened(number, number_, amount_);
  }
  void closed(uint64_t number_) const HEAPTAP_NOEXCEPT { heaptap_closed(number, number_); }
  heaptap_resource get() const HEAPTAP_NOEXCEPT { return number; }

 private:
  heaptap_resource number;
};

} /* namespace of this way of calling */

#if defined(HEAPTAP_DISABLED)
using namespace disabled;
#elif defined(HEAPTAP_STUBS)
using namespace linked;
#else
using namespace found;
#endif

} /* namespace heaptap */

#undef HEAPTAP_NOEXCEPT
#undef HEAPTAP_DELETED
#endif /* C++ */

#endif /* HEAPTAP_HEAPTAP_H */
