// Products of 128 bits, on CPUs whose compiler has no such number, too.
#pragma once
#include <stdint.h>

namespace heaptap::agent {

struct WideProduct {
  uint64_t high;
  uint64_t low;

  // Its bits from this one on, the lowest 64 of them; 0 < `bit` < 64.
  [[nodiscard]] constexpr uint64_t from(unsigned bit) const { return high << (64 - bit) | low >> bit; }
};

constexpr WideProduct wide_product(uint64_t a, uint64_t b) {
#ifdef __SIZEOF_INT128__
  using Wide = unsigned __int128;
  const Wide product = Wide{a} * b;
  return {static_cast<uint64_t>(product >> 64), static_cast<uint64_t>(product)};
#else
  const auto low_half = [](uint64_t number) { return number & UINT32_MAX; };
  const uint64_t low = low_half(a) * low_half(b);
  const uint64_t first = (a >> 32) * low_half(b);
  const uint64_t second = low_half(a) * (b >> 32);
  const uint64_t middle = (low >> 32) + low_half(first) + low_half(second);  // three halves
  return {(a >> 32) * (b >> 32) + (first >> 32) + (second >> 32) + (middle >> 32), middle << 32 | low_half(low)};
#endif
}

}  // namespace heaptap::agent
