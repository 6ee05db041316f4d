// The CPU that this file is compiled for, as namespace arch::native. The only place with an #if on the CPU.
//
// Two sides use it, each with a contract that the compiler checks for a CPU's directory:
//   common/arch/host_contract.h   code beside the target, or later and elsewhere: collector, tracer, reader. A CPU without a directory
//                          uses the minimal arch/other; so all but the agent compiles for every CPU.
//   common/arch/agent_contract.h  the agent, in the target. Only for a CPU with a directory.
// Facts about the target's CPU are independent of it: see common/arch/cpu.h and common/arch/thread_facts.h.
#pragma once
// HEAPTAP_OWN_CPUS(CPU): the CPUs whose programs run on this one. HEAPTAP_OWN_SCANNED_CPUS(CPU): of these the ones whose threads can be
// read (common/arch/thread_facts.h).
#if defined(__x86_64__) && defined(__LP64__)
#define HEAPTAP_OWN_CPUS(CPU) CPU(x86_64) CPU(i386)
#define HEAPTAP_OWN_SCANNED_CPUS(CPU) HEAPTAP_OWN_CPUS(CPU)
#include "common/arch/x86_64/native.h"
namespace heaptap::arch {
namespace native = x86_64;
}
#include "common/arch/agent_contract.h"
#elif defined(__aarch64__) && defined(__LP64__) && !defined(__AARCH64EB__)
#define HEAPTAP_OWN_CPUS(CPU) CPU(aarch64)
#define HEAPTAP_OWN_SCANNED_CPUS(CPU) HEAPTAP_OWN_CPUS(CPU)
#include "common/arch/aarch64/native.h"
namespace heaptap::arch {
namespace native = aarch64;
}
#include "common/arch/agent_contract.h"
#elif defined(__arm__) && defined(__ARM_EABI__) && defined(__ARM_PCS_VFP) && !defined(__ARMEB__) && __ARM_ARCH >= 7
#define HEAPTAP_OWN_CPUS(CPU) CPU(arm)
#define HEAPTAP_OWN_SCANNED_CPUS(CPU)
#include "common/arch/arm/native.h"
namespace heaptap::arch {
namespace native = arm;
}
#include "common/arch/agent_contract.h"
#elif defined(__powerpc__) && !defined(__powerpc64__) && defined(_CALL_SYSV) && defined(__BIG_ENDIAN__) && \
    !defined(__NO_FPRS__)
#define HEAPTAP_OWN_CPUS(CPU) CPU(powerpc)
#define HEAPTAP_OWN_SCANNED_CPUS(CPU)
#include "common/arch/powerpc/native.h"
namespace heaptap::arch {
namespace native = powerpc;
}
#include "common/arch/agent_contract.h"
#else
#define HEAPTAP_OWN_CPUS(CPU)
#define HEAPTAP_OWN_SCANNED_CPUS(CPU)
#include "common/arch/other/native.h"
namespace heaptap::arch {
namespace native = other;
}
#endif
#include "common/arch/host_contract.h"
