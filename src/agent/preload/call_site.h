// Caller of an exported function of the preloaded library.
#pragma once
#include <stdint.h>

#include "agent/core/recorder.h"

#define HEAPTAP_EXPORT extern "C" __attribute__((visibility("default"), used))
#define HEAPTAP_CALL_SITE() HEAPTAP_NATIVE_CALL_SITE()
