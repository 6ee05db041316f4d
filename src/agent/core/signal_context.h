// Interrupted registers, as a signal handler finds them.
#pragma once
#include <stdint.h>

#include "common/arch/native.h"

namespace heaptap::agent {

// What a handler finds at this place of its third argument; `offset` is from the stack pointer after the handler's return.
template <typename Value>
Value& found_at(void* context, uint64_t offset) {
  return *reinterpret_cast<Value*>(static_cast<uint8_t*>(context) + (offset - arch::native::Unwinding::kSignalContext));
}

}  // namespace heaptap::agent
