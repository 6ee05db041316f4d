#include "analysis/leaks/scan_difference.h"

#include <algorithm>
#include <tuple>

namespace heaptap::leaks {
namespace {

// Identity of a block across both scans.
using Identity = std::tuple<model::BlockNumber, uint64_t, uint64_t, model::SiteId>;

Identity identity_of(const model::ScannedBlock& block) {
  if (model::has_event(block.number)) return {block.number, 0, 0, 0};
  return {model::kFirstPooledNumber, block.address, block.size_bytes, block.site};
}

std::vector<uint32_t> lost_blocks(const JudgedScan& judged) {
  std::vector<uint32_t> lost;
  for (uint32_t i = 0; i < judged.scan.blocks.size(); ++i) {
    if (is_lost(judged.classification.states[i])) lost.push_back(i);
  }
  std::ranges::sort(lost, {}, [&](uint32_t block) { return identity_of(judged.scan.blocks[block]); });
  return lost;
}

// For each of these blocks of the later scan, ascending by identity: whether the earlier scan has it.
std::vector<bool> were_there(const model::HeapScan& earlier, const model::HeapScan& later,
                             const std::vector<uint32_t>& blocks) {
  std::vector<bool> there(blocks.size());
  if (blocks.empty()) return there;
  for (const model::ScannedBlock& block : earlier.blocks) {
    const Identity sought = identity_of(block);
    const auto found = std::ranges::lower_bound(
        blocks, sought, {}, [&](uint32_t candidate) { return identity_of(later.blocks[candidate]); });
    if (found == blocks.end() || identity_of(later.blocks[*found]) != sought) continue;
    there[static_cast<size_t>(found - blocks.begin())] = true;
  }
  return there;
}

}  // namespace

ScanDifference compare_scans(JudgedScan earlier, JudgedScan later) {
  const std::vector<uint32_t> before = lost_blocks(earlier);
  const std::vector<uint32_t> after = lost_blocks(later);
  ScanDifference difference;
  std::vector<uint32_t> appeared;
  size_t at = 0;
  const auto before_identity = [&] { return identity_of(earlier.scan.blocks[before[at]]); };
  for (const uint32_t block : after) {
    const Identity sought = identity_of(later.scan.blocks[block]);
    for (; at < before.size() && before_identity() < sought; ++at) difference.gone.push_back(before[at]);
    const bool was_lost = at < before.size() && before_identity() == sought;
    (was_lost ? difference.remained : appeared).push_back(block);
    if (was_lost) ++at;
  }
  difference.gone.insert(difference.gone.end(), before.begin() + static_cast<ptrdiff_t>(at), before.end());
  const std::vector<bool> there = were_there(earlier.scan, later.scan, appeared);
  for (size_t i = 0; i < appeared.size(); ++i) {
    (there[i] ? difference.older : difference.allocated).push_back(appeared[i]);
  }
  return difference;
}

}  // namespace heaptap::leaks
