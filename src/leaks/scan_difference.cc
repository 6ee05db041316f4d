#include "leaks/scan_difference.h"

#include <algorithm>

namespace heaptap::leaks {
namespace {

std::vector<uint32_t> lost_blocks(const JudgedScan& judged) {
  std::vector<uint32_t> lost;
  for (uint32_t i = 0; i < judged.scan.blocks.size(); ++i) {
    if (is_lost(judged.classification.states[i])) lost.push_back(i);
  }
  std::sort(lost.begin(), lost.end(),
            [&](uint32_t a, uint32_t b) { return judged.scan.blocks[a].number < judged.scan.blocks[b].number; });
  return lost;
}

}  // namespace

ScanDifference compare_scans(JudgedScan earlier, JudgedScan later) {
  const std::vector<uint32_t> before = lost_blocks(earlier);
  const std::vector<uint32_t> after = lost_blocks(later);
  ScanDifference difference;
  size_t at = 0;
  const auto before_number = [&] { return earlier.scan.blocks[before[at]].number; };
  for (const uint32_t block : after) {
    const model::BlockNumber number = later.scan.blocks[block].number;
    for (; at < before.size() && before_number() < number; ++at) difference.gone.push_back(before[at]);
    const bool was_lost = at < before.size() && before_number() == number;
    (was_lost ? difference.remained : difference.appeared).push_back(block);
    if (was_lost) ++at;
  }
  difference.gone.insert(difference.gone.end(), before.begin() + static_cast<ptrdiff_t>(at), before.end());
  return difference;
}

}  // namespace heaptap::leaks
