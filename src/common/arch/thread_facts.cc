#include "common/arch/i386/thread_facts.h"
#include "common/arch/thread_facts.h"
#include "common/arch/x86_64/thread_facts.h"

namespace heaptap::arch {

const ThreadFacts* thread_facts(wire::Architecture architecture) {
  for (const ThreadFacts* known : {&x86_64::kThreadFacts, &i386::kThreadFacts}) {
    if (known->architecture == architecture) return known;
  }
  return nullptr;
}

}  // namespace heaptap::arch
