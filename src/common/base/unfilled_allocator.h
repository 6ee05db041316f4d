// Allocator for vectors whose new elements are written at once: resize() leaves them uninitialized.
#pragma once
#include <memory>
#include <new>
#include <utility>

namespace heaptap::base {

template <typename T>
struct UnfilledAllocator : std::allocator<T> {
  template <typename U>
  void construct(U* place) {
    ::new (static_cast<void*>(place)) U;
  }
  template <typename U, typename... Arguments>
  void construct(U* place, Arguments&&... arguments) {
    ::new (static_cast<void*>(place)) U{std::forward<Arguments>(arguments)...};
  }
};

}  // namespace heaptap::base
