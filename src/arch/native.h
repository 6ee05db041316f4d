// The CPU that this file is compiled for, under one name: arch::native. The only place with an #if on the CPU.
//
// Two sides ask for it, and each has a contract that the compiler holds a CPU's directory to:
//   arch/host_contract.h   what runs beside the target, or later and elsewhere: collector, tracer, reader. A CPU without a directory
//                          has it from arch/other, which has next to nothing; so all but the agent compiles for every CPU.
//   arch/agent_contract.h  the agent, in the target. Only for a CPU with a directory.
// What is known of the target's CPU is no part of it, whatever this is compiled for: see arch/cpu.h and arch/thread_facts.h.
#pragma once
#if defined(__x86_64__) && defined(__LP64__)
#include "arch/x86_64/native.h"
namespace heaptap::arch {
namespace native = x86_64;
}
#include "arch/agent_contract.h"
#else
#include "arch/other/native.h"
namespace heaptap::arch {
namespace native = other;
}
#endif
#include "arch/host_contract.h"
