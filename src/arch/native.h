// The CPU that this file is compiled for, as namespace arch::native. The only place with an #if on the CPU.
//
// Two sides use it, each with a contract that the compiler checks for a CPU's directory:
//   arch/host_contract.h   code beside the target, or later and elsewhere: collector, tracer, reader. A CPU without a directory
//                          uses the minimal arch/other; so all but the agent compiles for every CPU.
//   arch/agent_contract.h  the agent, in the target. Only for a CPU with a directory.
// Facts about the target's CPU are independent of it: see arch/cpu.h and arch/thread_facts.h.
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
