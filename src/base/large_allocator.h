// An allocator for what grows to megabytes: those come from the kernel in huge pages where it has them. Touching new memory
// takes a page fault for each 4 KiB otherwise, which is a good part of what reading a short trace costs.
#pragma once
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace heaptap::base {

inline constexpr size_t kHugePageBytes = size_t{2} << 20;

// Memory that is aligned to huge pages, zeroed; null where there is none.
inline void* map_huge_pages(size_t bytes) {
  const size_t mapped_bytes = bytes + kHugePageBytes;
  void* mapped = mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* begin = static_cast<uint8_t*>(mapped);
  const size_t skipped = (kHugePageBytes - reinterpret_cast<uintptr_t>(begin) % kHugePageBytes) % kHugePageBytes;
  if (skipped != 0) munmap(begin, skipped);
  munmap(begin + skipped + bytes, kHugePageBytes - skipped);
  madvise(begin + skipped, bytes, MADV_HUGEPAGE);  // where it is refused, small pages do
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
  // From a quarter of a huge page on, one is used for it: less would waste more than it saves.
  static constexpr bool is_large(size_t bytes) { return bytes >= kHugePageBytes / 2; }
  static constexpr size_t whole_pages(size_t bytes) { return (bytes + 4095) / 4096 * 4096; }
};

// Before a vector grows to `size`: room for so much more that it is seldom copied. Memory that was never touched costs nothing.
template <typename Vector>
void make_room(Vector& vector, size_t size) {
  if (size > vector.capacity()) vector.reserve(4 * size);
}

template <typename T>
using LargeVector = std::vector<T, LargeAllocator<T>>;

}  // namespace heaptap::base
