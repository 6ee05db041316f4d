// Allocator for containers of megabytes, with huge pages from the kernel where it has them. Otherwise new memory takes
// a page fault for each 4 KiB, a large part of the time of reading a short trace.
#pragma once
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "common/base/pages.h"

namespace heaptap::base {

inline constexpr size_t kHugePageBytes = size_t{2} << 20;

// Zeroed memory aligned to huge pages; null: no memory.
inline void* map_huge_pages(size_t bytes) {
  const size_t mapped_bytes = bytes + kHugePageBytes;
  void* mapped = mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* begin = static_cast<uint8_t*>(mapped);
  const size_t skipped = (kHugePageBytes - reinterpret_cast<uintptr_t>(begin) % kHugePageBytes) % kHugePageBytes;
  if (skipped != 0) munmap(begin, skipped);
  munmap(begin + skipped + bytes, kHugePageBytes - skipped);
  madvise(begin + skipped, bytes, MADV_HUGEPAGE);  // falls back to small pages where refused
  return begin + skipped;
}

template <typename T>
struct LargeAllocator {
  using value_type = T;

  LargeAllocator() = default;
  template <typename U>
  LargeAllocator(const LargeAllocator<U>&) {}  // NOLINT(google-explicit-constructor): allocators convert

  T* allocate(size_t count) {
    if (count > SIZE_MAX / 2 / sizeof(T)) throw std::bad_array_new_length();
    const size_t bytes = count * sizeof(T);
    if (!is_large(bytes)) return std::allocator<T>().allocate(count);
    void* memory = map_huge_pages(whole_pages(bytes));
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t count) {
    const size_t bytes = count * sizeof(T);
    if (!is_large(bytes)) return std::allocator<T>().deallocate(memory, count);
    munmap(memory, whole_pages(bytes));
  }
  bool operator==(const LargeAllocator&) const = default;

 private:
  // From half a huge page on, one is used: less would waste more than it saves.
  static constexpr bool is_large(size_t bytes) { return bytes >= kHugePageBytes / 2; }
};

// Reserves capacity before a vector grows to `size`, so that it is rarely copied. Untouched memory costs nothing.
template <typename Vector>
void make_room(Vector& vector, size_t size) {
  if (size > vector.capacity()) vector.reserve(4 * size);
}

template <typename T>
using LargeVector = std::vector<T, LargeAllocator<T>>;

}  // namespace heaptap::base
