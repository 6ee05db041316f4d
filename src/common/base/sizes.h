// 64-bit counts and addresses of a target as sizes of this machine, which have 32 bits on some CPUs. A number is never cut off.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include "common/base/check.h"

namespace heaptap::base {

// The smaller of the two, which fits.
template <typename Size = size_t>
constexpr Size at_most(std::type_identity_t<Size> limit, uint64_t number) {
  return number < limit ? static_cast<Size>(number) : limit;
}

// None: this machine can't hold that many.
template <typename Size = size_t>
constexpr std::optional<Size> as_size(uint64_t number) {
  return std::in_range<Size>(number) ? std::optional(static_cast<Size>(number)) : std::nullopt;
}

// Of a number that is known to be in bounds: of something that is in memory here.
template <typename Size = size_t>
constexpr Size size_of_known(uint64_t number) {
  HEAPTAP_CHECK(std::in_range<Size>(number));
  return static_cast<Size>(number);
}

}  // namespace heaptap::base
