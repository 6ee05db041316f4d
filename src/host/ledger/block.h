// A block that is alive, as the ledger keeps it.
#pragma once
#include <cstdint>

#include "host/model/event.h"

namespace heaptap::ledger {

inline constexpr model::SiteId kNoSite = 0xffffffff;

// Two blocks fill a cache line exactly, so that a release touches one line.
struct alignas(32) Block {
  uint64_t size_bytes = 0;
  uint64_t allocated_at_ns = 0;
  uint64_t address = 0;  // 0 where addresses weren't asked for
  model::SiteId site = kNoSite;
  model::ThreadId thread = 0;
};
static_assert(sizeof(Block) == 32);

}  // namespace heaptap::ledger
