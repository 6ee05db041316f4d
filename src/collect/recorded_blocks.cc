#include "collect/recorded_blocks.h"

namespace heaptap::collect {

bool is_pool_memory(const TraceMaker& maker, model::SiteId site) {
  return wire::facts_of(maker.tables().sites[site].function).family == wire::Family::kPool;
}

Recorded recorded_by(const TraceMaker& maker, bool saw_all_releases) {
  const EventCoder& coder = maker.coder();
  Recorded recorded{.saw_all_releases = saw_all_releases,
                    .blocks = {},
                    .pooled = {},
                    .mapped = coder.mapped(),
                    .tables = maker.tables()};
  coder.blocks().for_each_live([&](uint64_t address, const BlockMap::Block& block) {
    constexpr uint64_t kMaxBytes = uint64_t{1} << 47;  // no process has more: its log was overwritten
    if (block.size_bytes > kMaxBytes) return;
    recorded.blocks.push_back({address, block.size_bytes, block.number, block.allocated_at, 0});
  });
  recorded.pooled = coder.pooled().in_order([&](model::SiteId site) { return is_pool_memory(maker, site); });
  return recorded;
}

}  // namespace heaptap::collect
