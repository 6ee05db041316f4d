// The CPU that this file is compiled for, under one name. The only place with an #if on the CPU.
#pragma once
#if defined(__x86_64__) && defined(__LP64__)
#include "arch/x86_64/clock.h"
#include "arch/x86_64/counter.h"
#include "arch/x86_64/prefetch.h"
#include "arch/x86_64/registers.h"
#include "arch/x86_64/relax.h"
#include "arch/x86_64/system_call.h"
#include "arch/x86_64/thread.h"
#include "arch/x86_64/thread_registers.h"
#include "arch/x86_64/vector_registers.h"
#include "arch/x86_64/word_filter.h"
namespace heaptap::arch {
namespace native = x86_64;
}
#else
#error "this CPU has no folder under src/arch yet"
#endif
