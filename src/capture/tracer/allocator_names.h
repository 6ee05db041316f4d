// Exported functions of allocators beside those of common/wire/functions.def that allocate or release blocks: calls within an
// allocator bypass these names. From the headers of firefox's mozjemalloc, jemalloc 5, mimalloc 2, gperftools 2, rpmalloc 1.
#pragma once
#include "capture/tracer/loaded_objects.h"

namespace heaptap::tracer {

struct AllocatorName {
  const char* symbol;
  wire::Function function;  // that its calls are recorded as
  Form form;
};

inline constexpr AllocatorName kAllocatorNames[] = {
#define HEAPTAP_NAME(symbol, function, form) {#symbol, wire::Function::function, Form::form}
    // Text copies, which call the allocator's internal functions where they are part of it.
    HEAPTAP_NAME(strdup, kMalloc, kText),
    HEAPTAP_NAME(__strdup, kMalloc, kText),
    HEAPTAP_NAME(strndup, kMalloc, kText),
    HEAPTAP_NAME(__strndup, kMalloc, kText),
    HEAPTAP_NAME(wcsdup, kMalloc, kWideText),
    HEAPTAP_NAME(asprintf, kMalloc, kPrinted),
    HEAPTAP_NAME(vasprintf, kMalloc, kPrinted),
    // mozjemalloc
    HEAPTAP_NAME(moz_arena_malloc, kMalloc, kInArena),
    HEAPTAP_NAME(moz_arena_calloc, kCalloc, kInArena),
    HEAPTAP_NAME(moz_arena_realloc, kRealloc, kInArena),
    HEAPTAP_NAME(moz_arena_memalign, kMemalign, kInArena),
    HEAPTAP_NAME(moz_arena_free, kFree, kInArena),
    // jemalloc, with and without its usual prefix
    HEAPTAP_NAME(mallocx, kMalloc, kAlike),
    HEAPTAP_NAME(rallocx, kRealloc, kAlike),
    HEAPTAP_NAME(dallocx, kFree, kAlike),
    HEAPTAP_NAME(sdallocx, kFree, kAlike),
    HEAPTAP_NAME(je_malloc, kMalloc, kAlike),
    HEAPTAP_NAME(je_calloc, kCalloc, kAlike),
    HEAPTAP_NAME(je_realloc, kRealloc, kAlike),
    HEAPTAP_NAME(je_free, kFree, kAlike),
    HEAPTAP_NAME(je_posix_memalign, kPosixMemalign, kAlike),
    HEAPTAP_NAME(je_aligned_alloc, kAlignedAlloc, kAlike),
    HEAPTAP_NAME(je_memalign, kMemalign, kAlike),
    HEAPTAP_NAME(je_valloc, kValloc, kAlike),
    HEAPTAP_NAME(je_mallocx, kMalloc, kAlike),
    HEAPTAP_NAME(je_rallocx, kRealloc, kAlike),
    HEAPTAP_NAME(je_dallocx, kFree, kAlike),
    HEAPTAP_NAME(je_sdallocx, kFree, kAlike),
    // mimalloc
    HEAPTAP_NAME(mi_malloc, kMalloc, kAlike),
    HEAPTAP_NAME(mi_malloc_small, kMalloc, kAlike),
    HEAPTAP_NAME(mi_zalloc, kMalloc, kAlike),
    HEAPTAP_NAME(mi_zalloc_small, kMalloc, kAlike),
    HEAPTAP_NAME(mi_calloc, kCalloc, kAlike),
    HEAPTAP_NAME(mi_mallocn, kCalloc, kAlike),
    HEAPTAP_NAME(mi_realloc, kRealloc, kAlike),
    HEAPTAP_NAME(mi_reallocf, kRealloc, kAlike),
    HEAPTAP_NAME(mi_rezalloc, kRealloc, kAlike),
    HEAPTAP_NAME(mi_reallocn, kReallocarray, kAlike),
    HEAPTAP_NAME(mi_recalloc, kReallocarray, kAlike),
    HEAPTAP_NAME(mi_reallocarray, kReallocarray, kAlike),
    HEAPTAP_NAME(mi_free, kFree, kAlike),
    HEAPTAP_NAME(mi_cfree, kFree, kAlike),
    HEAPTAP_NAME(mi_free_size, kFree, kAlike),
    HEAPTAP_NAME(mi_free_size_aligned, kFree, kAlike),
    HEAPTAP_NAME(mi_free_aligned, kFree, kAlike),
    HEAPTAP_NAME(mi_malloc_aligned, kMalloc, kAlike),
    HEAPTAP_NAME(mi_malloc_aligned_at, kMalloc, kAlike),
    HEAPTAP_NAME(mi_zalloc_aligned, kMalloc, kAlike),
    HEAPTAP_NAME(mi_calloc_aligned, kCalloc, kAlike),
    HEAPTAP_NAME(mi_realloc_aligned, kRealloc, kAlike),
    HEAPTAP_NAME(mi_posix_memalign, kPosixMemalign, kAlike),
    HEAPTAP_NAME(mi_memalign, kMemalign, kAlike),
    HEAPTAP_NAME(mi_aligned_alloc, kAlignedAlloc, kAlike),
    HEAPTAP_NAME(mi_valloc, kValloc, kAlike),
    HEAPTAP_NAME(mi_pvalloc, kPvalloc, kAlike),
    HEAPTAP_NAME(mi_strdup, kMalloc, kText),
    HEAPTAP_NAME(mi_strndup, kMalloc, kText),
    HEAPTAP_NAME(mi_new, kMallocOrNew, kAlike),
    HEAPTAP_NAME(mi_new_nothrow, kMallocOrNew, kAlike),
    HEAPTAP_NAME(mi_new_aligned, kMallocOrNew, kAlike),
    HEAPTAP_NAME(mi_new_aligned_nothrow, kMallocOrNew, kAlike),
    HEAPTAP_NAME(mi_heap_malloc, kMalloc, kInArena),
    HEAPTAP_NAME(mi_heap_malloc_small, kMalloc, kInArena),
    HEAPTAP_NAME(mi_heap_zalloc, kMalloc, kInArena),
    HEAPTAP_NAME(mi_heap_calloc, kCalloc, kInArena),
    HEAPTAP_NAME(mi_heap_mallocn, kCalloc, kInArena),
    HEAPTAP_NAME(mi_heap_realloc, kRealloc, kInArena),
    HEAPTAP_NAME(mi_heap_reallocn, kReallocarray, kInArena),
    HEAPTAP_NAME(mi_heap_malloc_aligned, kMalloc, kInArena),
    HEAPTAP_NAME(mi_heap_zalloc_aligned, kMalloc, kInArena),
    HEAPTAP_NAME(mi_heap_strdup, kMalloc, kText),
    HEAPTAP_NAME(mi_heap_strndup, kMalloc, kText),
    // tcmalloc
    HEAPTAP_NAME(tc_malloc, kMalloc, kAlike),
    HEAPTAP_NAME(tc_malloc_skip_new_handler, kMalloc, kAlike),
    HEAPTAP_NAME(tc_calloc, kCalloc, kAlike),
    HEAPTAP_NAME(tc_realloc, kRealloc, kAlike),
    HEAPTAP_NAME(tc_free, kFree, kAlike),
    HEAPTAP_NAME(tc_free_sized, kFree, kAlike),
    HEAPTAP_NAME(tc_cfree, kFree, kAlike),
    HEAPTAP_NAME(tc_memalign, kMemalign, kAlike),
    HEAPTAP_NAME(tc_posix_memalign, kPosixMemalign, kAlike),
    HEAPTAP_NAME(tc_valloc, kValloc, kAlike),
    HEAPTAP_NAME(tc_pvalloc, kPvalloc, kAlike),
    HEAPTAP_NAME(tc_new, kNew, kAlike),
    HEAPTAP_NAME(tc_new_nothrow, kNewNothrow, kAlike),
    HEAPTAP_NAME(tc_newarray, kNewArray, kAlike),
    HEAPTAP_NAME(tc_newarray_nothrow, kNewArrayNothrow, kAlike),
    HEAPTAP_NAME(tc_delete, kDelete, kAlike),
    HEAPTAP_NAME(tc_delete_nothrow, kDeleteNothrow, kAlike),
    HEAPTAP_NAME(tc_delete_sized, kDeleteSized, kAlike),
    HEAPTAP_NAME(tc_deletearray, kDeleteArray, kAlike),
    HEAPTAP_NAME(tc_deletearray_nothrow, kDeleteArrayNothrow, kAlike),
    HEAPTAP_NAME(tc_deletearray_sized, kDeleteArraySized, kAlike),
    // rpmalloc
    HEAPTAP_NAME(rpmalloc, kMalloc, kAlike),
    HEAPTAP_NAME(rpcalloc, kCalloc, kAlike),
    HEAPTAP_NAME(rprealloc, kRealloc, kAlike),
    HEAPTAP_NAME(rpaligned_alloc, kAlignedAlloc, kAlike),
    HEAPTAP_NAME(rpmemalign, kMemalign, kAlike),
    HEAPTAP_NAME(rpposix_memalign, kPosixMemalign, kAlike),
    HEAPTAP_NAME(rpfree, kFree, kAlike),
#undef HEAPTAP_NAME
};

}  // namespace heaptap::tracer
