// Random bytes that nobody can foresee.
#pragma once
#include <cstdint>
#include <span>

namespace heaptap::base {

// Waits until the kernel has enough entropy. False: there are none, errno says why; the bytes are undefined then.
[[nodiscard]] bool fill_random(std::span<uint8_t> bytes);

}  // namespace heaptap::base
