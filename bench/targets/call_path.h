// Call chains of functions with frames of their own: each level is a distinct function with a different stack size; none is inlined or
// tail-called.
#pragma once
#include <array>
#include <cstddef>
#include <utility>

namespace bench {

// Hides a pointer's target from the optimizer, so that it can't be removed.
inline void keep(void* pointer) { asm volatile("" : : "r"(pointer) : "memory"); }

template <typename Work, int kLevel>
[[gnu::noinline]] void level(Work& work, int depth) {
  char frame[16 + 8 * (kLevel % 7)];
  keep(frame);
  if constexpr (kLevel > 1) {
    level<Work, kLevel - 1>(work, depth);
  } else {
    work(depth);
  }
  keep(frame);
}

// Calls work(depth) below `depth` functions of its own, at most kMax.
template <typename Work, int kMax>
void call_at_depth(Work& work, int depth) {
  using Entry = void (*)(Work&, int);
  static constexpr auto kEntries = []<size_t... kIndex>(std::index_sequence<kIndex...>) {
    return std::array<Entry, kMax>{&level<Work, static_cast<int>(kIndex) + 1>...};
  }(std::make_index_sequence<kMax>());
  kEntries[static_cast<size_t>(depth - 1)](work, depth);
}

}  // namespace bench
