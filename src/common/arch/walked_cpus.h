// CPUs whose stacks can be walked from outside: a new one needs a line here and its directory's signal_frames.h.
#pragma once
#include "common/arch/aarch64/signal_frames.h"
#include "common/arch/arm/signal_frames.h"
#include "common/arch/i386/signal_frames.h"
#include "common/arch/native.h"
#include "common/arch/powerpc/signal_frames.h"
#include "common/arch/x86_64/signal_frames.h"
#include "common/wire/architecture.h"

// CPU(NAME): the namespace of each below heaptap::arch. HEAPTAP_SCANNED_CPUS: of these the ones whose threads can be read. What runs beside its target alone, and has to be small, knows those of its own
// machine.
#ifdef HEAPTAP_KNOWS_OWN_CPUS_ALONE
#define HEAPTAP_WALKED_CPUS(CPU) HEAPTAP_OWN_CPUS(CPU)
#define HEAPTAP_SCANNED_CPUS(CPU) HEAPTAP_OWN_SCANNED_CPUS(CPU)
#else
#define HEAPTAP_SCANNED_CPUS(CPU) \
  CPU(x86_64)                     \
  CPU(i386)                       \
  CPU(aarch64)
#define HEAPTAP_WALKED_CPUS(CPU) HEAPTAP_SCANNED_CPUS(CPU) CPU(arm) CPU(powerpc)
#endif

namespace heaptap::arch {

// Calls visit(cpu) with the TracedUnwinding of that CPU. False: its stacks can't be walked.
template <typename Visitor>
bool visit_walked_cpu([[maybe_unused]] wire::Architecture architecture, [[maybe_unused]] const Visitor& visit) {
#define HEAPTAP_VISIT(name)                  \
  if (architecture == name::kArchitecture) { \
    visit(name::TracedUnwinding());          \
    return true;                             \
  }
  HEAPTAP_WALKED_CPUS(HEAPTAP_VISIT)
#undef HEAPTAP_VISIT
  return false;
}

}  // namespace heaptap::arch
