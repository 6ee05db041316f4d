// Fixed-size array of zero-initialized elements that takes no memory until they are written: for sparsely used tables.
#pragma once
#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace heaptap::base {

// For element types whose all-zero bytes are a valid value.
template <typename T>
class ZeroedArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  ZeroedArray() = default;
  // Throws std::bad_alloc.
  explicit ZeroedArray(size_t size) : size_(size) {
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* const memory = mmap(nullptr, size * sizeof(T), PROT_READ | PROT_WRITE, kFlags, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    elements_ = static_cast<T*>(memory);
  }
  ZeroedArray(ZeroedArray&& other) noexcept
      : elements_(std::exchange(other.elements_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  ZeroedArray& operator=(ZeroedArray&& other) noexcept {
    std::swap(elements_, other.elements_);
    std::swap(size_, other.size_);
    return *this;
  }
  ZeroedArray(const ZeroedArray&) = delete;
  ZeroedArray& operator=(const ZeroedArray&) = delete;
  ~ZeroedArray() {
    if (elements_ != nullptr) munmap(elements_, size_ * sizeof(T));
  }

  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] T* data() { return elements_; }
  [[nodiscard]] T& operator[](size_t at) { return elements_[at]; }
  [[nodiscard]] const T& operator[](size_t at) const { return elements_[at]; }

 private:
  T* elements_ = nullptr;
  size_t size_ = 0;
};

}  // namespace heaptap::base
