// Numbers that nobody can foresee.
#pragma once
#include <cstdint>
#include <span>

#include "base/result.h"

namespace heaptap::channel {

// At most 256 bytes. The kernel may have none to give.
base::Result<> fill_random(std::span<uint8_t> bytes);

}  // namespace heaptap::channel
