#include "common/arch/thread_facts.h"

#include "common/arch/aarch64/thread_facts.h"
#include "common/arch/i386/thread_facts.h"
#include "common/arch/walked_cpus.h"
#include "common/arch/x86_64/thread_facts.h"

namespace heaptap::arch {

const ThreadFacts* thread_facts([[maybe_unused]] wire::Architecture architecture) {
#define HEAPTAP_OFFER(name) \
  if (architecture == name::kArchitecture) return &name::kThreadFacts;
  HEAPTAP_SCANNED_CPUS(HEAPTAP_OFFER)
#undef HEAPTAP_OFFER
  return nullptr;
}

}  // namespace heaptap::arch
