// Caller of an exported function of the preloaded library.
#pragma once
#include <stdint.h>

#include "agent/core/recorder.h"

#define HEAPTAP_EXPORT extern "C" __attribute__((visibility("default"), used))
// In a function with a frame pointer: [FP] the caller's, [FP + word] the return address.
#define HEAPTAP_CALL_SITE()                                                      \
  CallSite {                                                                     \
    reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) + sizeof(uintptr_t), \
        reinterpret_cast<uintptr_t>(__builtin_return_address(0)),                \
        *static_cast<const uintptr_t*>(__builtin_frame_address(0))               \
  }
