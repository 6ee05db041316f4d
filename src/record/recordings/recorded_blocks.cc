#include "record/recordings/recorded_blocks.h"

#include <algorithm>

namespace heaptap::recordings {

bool is_pool_memory(const ingest::TraceBuilder& maker, model::SiteId site) {
  return wire::facts_of(maker.tables().sites[site].function).family == wire::Family::kPool;
}

namespace {

// Without blocks inside other blocks.
std::vector<base::AddressRange> released_blocks(const ingest::BlockMap& blocks) {
  std::vector<base::AddressRange> ranges;
  blocks.for_each_released([&](uint64_t address, const ingest::BlockMap::Block& block) {
    constexpr uint64_t kMaxBytes = uint64_t{1} << 47;
    if (block.size_bytes != 0 && block.size_bytes < kMaxBytes) ranges.push_back({address, address + block.size_bytes});
  });
  std::ranges::sort(ranges, {}, &base::AddressRange::begin);
  return ranges;
}

}  // namespace

// If events were lost, such an address may have been reused; also by an unseen block if recording was off.
bool needs_released(const ingest::TraceBuilder& maker, bool saw_all_releases, bool knows_earlier) {
  const bool has_unseen = (maker.gaps() & model::kGapUnseenWhileOff) != 0;
  return !knows_earlier && saw_all_releases && !has_unseen;
}

supervision::Recorded recorded_by(const ingest::TraceBuilder& maker, bool saw_all_releases, bool knows_earlier) {
  const ingest::EventCoder& coder = maker.coder();
  supervision::Recorded recorded{.saw_all_releases = saw_all_releases,
                                 .blocks = {},
                                 .pooled = {},
                                 .mapped = coder.mapped(),
                                 .tables = maker.tables()};
  coder.blocks().for_each_live([&](uint64_t address, const ingest::BlockMap::Block& block) {
    constexpr uint64_t kMaxBytes = uint64_t{1} << 47;  // no process has more: its log was overwritten
    if (block.size_bytes > kMaxBytes) return;
    recorded.blocks.push_back({address, block.size_bytes, block.number, block.allocated_at, 0});
  });
  recorded.pooled = coder.pooled().in_order([&](model::SiteId site) { return is_pool_memory(maker, site); });
  if (needs_released(maker, saw_all_releases, knows_earlier)) recorded.released = released_blocks(coder.blocks());
  return recorded;
}

stream::LiveBlocks live_blocks_of(ingest::EventCoder& coder, std::span<const wire::RawEvent> waiting,
                                  const std::function<bool(model::SiteId)>& is_memory, bool with_released) {
  stream::LiveBlocks live;
  coder.blocks().for_each_live(
      [&live](uint64_t address, const ingest::BlockMap::Block& block) { live.add(address, block.size_bytes); });
  coder.pooled().for_each([&](uint64_t address, uint64_t pooled_size, model::SiteId site) {
    if (is_memory(site)) live.add_pooled(address, pooled_size);
  });
  if (with_released) {
    coder.blocks().for_each_released([&live](uint64_t address, const ingest::BlockMap::Block& block) {
      live.add_released(address, block.size_bytes);
    });
  }
  stream::Unsettled unsettled;
  coder.for_each_last_released([&unsettled](uint32_t thread, uint64_t address, uint64_t size_bytes) {
    unsettled.released.push_back({thread, address, size_bytes});
  });
  live.add_unsettled(unsettled);
  live.apply(waiting);
  return live;
}

std::vector<base::AddressRange> released_to_tell(const stream::LiveBlocks& blocks) {
  const std::vector<model::ScannedBlock> alive = blocks.alive();
  std::vector<base::AddressRange> released = blocks.released();
  auto next = alive.begin();
  std::erase_if(released, [&](const base::AddressRange& range) {
    while (next != alive.end() && next->address + next->size_bytes <= range.begin) ++next;
    return next != alive.end() && next->address < range.end;
  });
  const size_t most = std::max(alive.size(), kLeastReleased);
  if (released.size() > most) released.resize(most);
  return released;
}

}  // namespace heaptap::recordings
