// Exports of this CPU's directory for arch/native.h.
#pragma once
#include "arch/x86_64/bytes.h"
#include "arch/x86_64/clock.h"
#include "arch/x86_64/counter.h"
#include "arch/x86_64/prefetch.h"
#include "arch/x86_64/registers.h"
#include "arch/x86_64/relax.h"
#include "arch/x86_64/system_call.h"
#include "arch/x86_64/thread.h"
#include "arch/x86_64/vector_registers.h"
#include "arch/x86_64/word_filter.h"
