// Live block of the ledger.
#pragma once
#include <cstdint>

#include "common/model/event.h"

namespace heaptap::ledger {

inline constexpr model::SiteId kNoSite = 0xffffffff;

struct Block {
  uint64_t size_bytes = 0;
  uint64_t allocated_at_ns = 0;
  uint64_t address = 0;  // 0 if addresses aren't kept
  model::SiteId site = kNoSite;
  model::ThreadId thread = 0;
};

}  // namespace heaptap::ledger
