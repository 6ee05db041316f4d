// Exports of this CPU's directory for common/arch/native.h.
#pragma once
#include "common/arch/x86_64/bytes.h"
#include "common/arch/x86_64/clock.h"
#include "common/arch/x86_64/counter.h"
#include "common/arch/x86_64/pages.h"
#include "common/arch/x86_64/prefetch.h"
#include "common/arch/x86_64/registers.h"
#include "common/arch/x86_64/relax.h"
#include "common/arch/x86_64/system_call.h"
#include "common/arch/x86_64/thread.h"
#include "common/arch/x86_64/vector_registers.h"
#include "common/arch/x86_64/word_filter.h"
