#include "host/analysis/leak_counts.h"

#include <algorithm>

namespace heaptap::analysis {
namespace {

using leaks::BlockState;

void add(report::BlockCount& count, uint64_t bytes) {
  ++count.blocks;
  count.bytes += bytes;
}

report::BlockCount& count_for(report::StackLeaks& leaks, BlockState state) {
  switch (state) {
    case BlockState::kDefinite:
      return leaks.definite;
    case BlockState::kIndirect:
      return leaks.indirect;
    case BlockState::kPossible:
      return leaks.possible;
    case BlockState::kReachable:
      break;
  }
  return leaks.reachable;
}

}  // namespace

LeakCounts::LeakCounts(const model::HeapScan& scan, const Rules& rules)
    : classes_(leaks::classify(scan, rules.options)), suppressed_(scan.blocks.size()) {
  if (rules.suppresses) suppress(scan, rules);
  count(scan, rules);
}

// What is lost below a suppressed leak is suppressed with it: it would be found again if that were mended.
void LeakCounts::suppress(const model::HeapScan& scan, const Rules& rules) {
  enum : uint8_t { kUnknown, kNo, kYes };
  std::vector<uint8_t> answers;
  const auto asks = [&](model::SiteId site) {
    if (site >= answers.size()) answers.resize(site + size_t{1});
    if (answers[site] == kUnknown) answers[site] = rules.suppresses(site) ? kYes : kNo;
    return answers[site] == kYes;
  };
  for (size_t i = 0; i < scan.blocks.size(); ++i) {
    if (classes_.states[i] != BlockState::kReachable && asks(scan.blocks[i].site)) suppressed_[i] = 1;
  }
  for (size_t i = 0; i < scan.blocks.size(); ++i) {
    const uint32_t leader = classes_.leaders[i];
    if (leader != leaks::kNoBlock && suppressed_[leader] != 0) suppressed_[i] = 1;
  }
}

void LeakCounts::count(const model::HeapScan& scan, const Rules& rules) {
  const auto counts = [&](const model::ScannedBlock& block) {
    return (!rules.counts || rules.counts(block.site)) && (!rules.counts_block || rules.counts_block(block));
  };
  for (size_t i = 0; i < scan.blocks.size(); ++i) {
    const model::ScannedBlock& block = scan.blocks[i];
    if (!counts(block)) continue;
    if (block.site >= sites_.size()) sites_.resize(block.site + size_t{1});
    report::StackLeaks& site = sites_[block.site];
    const BlockState state = classes_.states[i];
    add(suppressed_[i] != 0 ? site.suppressed : count_for(site, state), block.size);
    if (state != BlockState::kIndirect || suppressed_[i] != 0) continue;
    const model::SiteId above = scan.blocks[classes_.leaders[i]].site;
    if (above >= sites_.size()) sites_.resize(above + size_t{1});
    add(sites_[above].below, block.size);
  }
}

void LeakCounts::fill(report::Leaks& leaks) const {
  leaks.scanned = true;
  report::StackLeaks sum;
  for (const report::StackLeaks& site : sites_) sum += site;
  leaks.definite = sum.definite;
  leaks.indirect = sum.indirect;
  leaks.possible = sum.possible;
  leaks.reachable = sum.reachable;
  leaks.suppressed = sum.suppressed;
}

}  // namespace heaptap::analysis
