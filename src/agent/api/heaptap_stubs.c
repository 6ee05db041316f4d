/* No-op implementations of the functions of heaptap/heaptap.h. In libheaptap.so and libheaptap.a, or as a source of a program:
 *   cc -DHEAPTAP_STUBS … program.c heaptap_stubs.c
 * A tracer outside the process sees their calls: so each has its own address, gets its arguments by the normal calling convention,
 * and is neither inlined nor merged by compilers and linkers. A preloaded agent's functions take precedence over those of
 * libheaptap.so. C89 with stdint.h; needs no library. */
#define HEAPTAP_IMPLEMENTATION
#include "heaptap/heaptap.h"

#if defined(__GNUC__)
#if defined(__clang__)
#define HEAPTAP_STUB __attribute__((__nothrow__, __noinline__, __used__))
#elif defined(__has_attribute) && __has_attribute(__noipa__)
#define HEAPTAP_STUB __attribute__((__nothrow__, __noipa__, __used__))
#else
#define HEAPTAP_STUB __attribute__((__nothrow__, __noinline__, __noclone__, __used__))
#endif
/* Code that is no other stub's, so that none are folded into one; and memory may have changed. */
#define HEAPTAP_DIFFERS(number) __asm__ __volatile__("" : : "r"(number) : "memory")
#define HEAPTAP_USES(argument) __asm__ __volatile__("" : : "g"(argument))
#else
#define HEAPTAP_STUB
#define HEAPTAP_DIFFERS(number) ((void)0)
#define HEAPTAP_USES(argument) ((void)(argument))
#endif

/* Pools and kinds of resources have numbers, so that an observer can tell them apart. */
static uint64_t next_number(void) {
#if defined(__GNUC__)
  static size_t last;
  return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
#else
  return 0;
#endif
}

#ifdef __cplusplus
extern "C" {
#endif

HEAPTAP_STUB int heaptap_api_version(void) {
  HEAPTAP_DIFFERS(1);
  return HEAPTAP_API_VERSION;
}

HEAPTAP_STUB void heaptap_enable(void) { HEAPTAP_DIFFERS(2); }

HEAPTAP_STUB void heaptap_disable(void) { HEAPTAP_DIFFERS(3); }

/* No agent is there. A tracer puts its answer in the place of this one, and so in heaptap_report and heaptap_scan. */
HEAPTAP_STUB int heaptap_is_recording(void) {
  HEAPTAP_DIFFERS(4);
  return 0;
}

HEAPTAP_STUB void heaptap_mark(const char* name) {
  HEAPTAP_USES(name);
  HEAPTAP_DIFFERS(5);
}

HEAPTAP_STUB void heaptap_push_tag(const char* name) {
  HEAPTAP_USES(name);
  HEAPTAP_DIFFERS(6);
}

HEAPTAP_STUB void heaptap_pop_tag(void) { HEAPTAP_DIFFERS(7); }

HEAPTAP_STUB int heaptap_report(const char* path) {
  HEAPTAP_USES(path);
  HEAPTAP_DIFFERS(8);
  return ENOTSUP;
}

HEAPTAP_STUB int heaptap_scan(heaptap_scan_counts* counts) {
  HEAPTAP_USES(counts);
  HEAPTAP_DIFFERS(9);
  return ENOTSUP;
}

HEAPTAP_STUB heaptap_pool heaptap_pool_create(const char* name) {
  HEAPTAP_USES(name);
  HEAPTAP_DIFFERS(10);
  return next_number();
}

HEAPTAP_STUB void heaptap_pool_destroy(heaptap_pool pool) {
  HEAPTAP_USES(pool);
  HEAPTAP_DIFFERS(11);
}

HEAPTAP_STUB void heaptap_allocated(heaptap_pool pool, const void* address, size_t size_bytes) {
  HEAPTAP_USES(pool);
  HEAPTAP_USES(address);
  HEAPTAP_USES(size_bytes);
  HEAPTAP_DIFFERS(12);
}

HEAPTAP_STUB void heaptap_released(heaptap_pool pool, const void* address) {
  HEAPTAP_USES(pool);
  HEAPTAP_USES(address);
  HEAPTAP_DIFFERS(13);
}

HEAPTAP_STUB void heaptap_reallocated(heaptap_pool pool, const void* before, const void* after, size_t size_bytes) {
  HEAPTAP_USES(pool);
  HEAPTAP_USES(before);
  HEAPTAP_USES(after);
  HEAPTAP_USES(size_bytes);
  HEAPTAP_DIFFERS(14);
}

HEAPTAP_STUB void heaptap_name_block(const void* block, const char* name) {
  HEAPTAP_USES(block);
  HEAPTAP_USES(name);
  HEAPTAP_DIFFERS(15);
}

HEAPTAP_STUB heaptap_resource heaptap_resource_create(const char* name) {
  HEAPTAP_USES(name);
  HEAPTAP_DIFFERS(16);
  return next_number();
}

HEAPTAP_STUB void heaptap_opened(heaptap_resource kind, uint64_t number, uint64_t amount) {
  HEAPTAP_USES(kind);
  HEAPTAP_USES(number);
  HEAPTAP_USES(amount);
  HEAPTAP_DIFFERS(17);
}

HEAPTAP_STUB void heaptap_closed(heaptap_resource kind, uint64_t number) {
  HEAPTAP_USES(kind);
  HEAPTAP_USES(number);
  HEAPTAP_DIFFERS(18);
}

#ifdef __cplusplus
}
#endif
