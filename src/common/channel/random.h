// Cryptographic random numbers.
#pragma once
#include <cstdint>
#include <span>

#include "common/base/result.h"

namespace heaptap::channel {

// Fails if the kernel has none.
base::Result<> fill_random(std::span<uint8_t> bytes);

}  // namespace heaptap::channel
