#include "analysis/query/leak_counts.h"

#include <algorithm>
#include <array>
#include <utility>

#include "analysis/query/lost_cycles.h"

namespace heaptap::query {
namespace {

using leaks::BlockState;

report::BlockCount& count_for(report::StackLeaks& leaks, BlockState state) {
  switch (state) {
    case BlockState::kDefinite:
      return leaks.definite;
    case BlockState::kIndirect:
      return leaks.indirect;
    case BlockState::kPossible:
      return leaks.possible;
    case BlockState::kUnknown:
      return leaks.unknown;
    case BlockState::kReachable:
      break;
  }
  return leaks.reachable;
}

}  // namespace

// A block of a pool has a pointer to the block that contains it (see capture/supervision/pool_cut.h).
uint32_t memory_of(const model::HeapScan& scan, uint32_t pooled) {
  const model::ScannedBlock& block = scan.blocks[pooled];
  if (!model::is_pooled(block.number)) return model::kNoBlock;
  for (uint32_t i = scan.pointers_begin[pooled]; i < scan.pointers_begin[pooled + 1]; ++i) {
    const uint32_t to = scan.pointers[i].to;
    const model::ScannedBlock& memory = scan.blocks[to];
    const bool contains = memory.address <= block.address && block.address - memory.address < memory.size_bytes;
    if (!model::is_pooled(memory.number) && contains) return to;
  }
  return model::kNoBlock;
}

LeakCounts::LeakCounts(const model::HeapScan& scan, const Rules& rules, std::vector<leaks::BlockState> reached)
    : classes_(leaks::classify_reached(scan, rules.options, std::move(reached))) {
  find_behind_headers(scan, rules.options);
  find_behind_tags(scan, rules.options);
  in_cycles_ = find_in_cycles(scan, classes_.states);
  if (rules.suppressor) suppress(scan, rules);
  if (rules.ignores) ignore(scan, rules);
  count(scan, rules);
  count_pooled_apart(scan);
}

// Classified a second time without those pointers. Few scans have any.
void LeakCounts::find_behind_headers(const model::HeapScan& scan, const leaks::LeakOptions& options) {
  constexpr auto kHeader = wire::PointerKind::kHeader;
  const auto is_one = [](const auto& pointer) { return pointer.kind == kHeader; };
  if (std::ranges::none_of(scan.pointers, is_one) && std::ranges::none_of(scan.roots, is_one)) return;
  leaks::LeakOptions without = options;
  without.heuristics = static_cast<uint16_t>(options.heuristics & ~leaks::pointer_bit(kHeader));
  const std::vector<BlockState> states = leaks::reach(scan, without);
  behind_headers_.assign(states.size(), 0);
  for (size_t i = 0; i < states.size(); ++i) {
    const bool is_reachable = classes_.states[i] == BlockState::kReachable && !options.holds(scan.blocks[i].site);
    behind_headers_[i] = is_reachable && states[i] == BlockState::kPossible ? 1 : 0;
  }
}

// Likewise.
void LeakCounts::find_behind_tags(const model::HeapScan& scan, const leaks::LeakOptions& options) {
  constexpr auto kTagged = wire::PointerKind::kTagged;
  const auto is_one = [](const auto& pointer) { return pointer.kind == kTagged; };
  if (std::ranges::none_of(scan.pointers, is_one) && std::ranges::none_of(scan.roots, is_one)) return;
  leaks::LeakOptions without = options;
  without.overlooked = leaks::pointer_bit(kTagged);
  const std::vector<BlockState> states = leaks::reach(scan, without);
  behind_tags_.assign(states.size(), 0);
  for (size_t i = 0; i < states.size(); ++i) {
    const BlockState state = classes_.states[i];
    const bool is_held = state == BlockState::kReachable || state == BlockState::kPossible;
    behind_tags_[i] = is_held && !options.holds(scan.blocks[i].site) && states[i] == BlockState::kDefinite ? 1 : 0;
  }
}

// Blocks lost below a suppressed leak are suppressed with it: they would be found again if that were fixed.
void LeakCounts::suppress(const model::HeapScan& scan, const Rules& rules) {
  constexpr uint32_t kNotAsked = kNotSuppressed - 1;
  std::array<uint32_t, leaks::kBlockStateCount> none_asked{};
  none_asked.fill(kNotAsked);
  std::vector<std::array<uint32_t, leaks::kBlockStateCount>> answers;
  const auto ask = [&](model::SiteId site, BlockState state) {
    if (site >= answers.size()) answers.resize(site + size_t{1}, none_asked);
    uint32_t& answer = answers[site][static_cast<size_t>(state)];
    if (answer == kNotAsked) answer = rules.suppressor(site, state);
    return answer;
  };
  suppressed_by_.assign(scan.blocks.size(), kNotSuppressed);
  for (size_t i = 0; i < scan.blocks.size(); ++i) {
    const BlockState state = classes_.states[i];
    const bool is_leak = state != BlockState::kReachable && state != BlockState::kUnknown;
    if (is_leak) suppressed_by_[i] = ask(scan.blocks[i].site, state);
  }
  for (size_t i = 0; i < scan.blocks.size(); ++i) {
    const uint32_t leader = classes_.leaders[i];
    if (leader != model::kNoBlock && suppressed_by_[i] == kNotSuppressed) suppressed_by_[i] = suppressed_by_[leader];
    if (suppressed_by_[i] == kNotSuppressed) continue;
    if (suppressed_by_[i] >= hidden_.size()) hidden_.resize(suppressed_by_[i] + size_t{1});
    hidden_[suppressed_by_[i]].add_block(scan.blocks[i].size_bytes);
  }
}

// Blocks lost below an ignored block are ignored, too: a user who ignores that one can't fix these.
void LeakCounts::ignore(const model::HeapScan& scan, const Rules& rules) {
  ignored_.assign(scan.blocks.size(), 0);
  for (uint32_t i = 0; i < scan.blocks.size(); ++i) {
    const BlockState state = classes_.states[i];
    const bool is_leak = state != BlockState::kReachable && state != BlockState::kUnknown;
    if (!is_leak || is_suppressed(i)) continue;
    const uint32_t leader = classes_.leaders[i];
    const bool is_below = leader != model::kNoBlock && rules.ignores(scan.blocks[leader].site);
    ignored_[i] = is_below || rules.ignores(scan.blocks[i].site) ? 1 : 0;
  }
}

void LeakCounts::count(const model::HeapScan& scan, const Rules& rules) {
  const auto counts = [&](const model::ScannedBlock& block) {
    return (!rules.counts || rules.counts(block.site)) && (!rules.counts_block || rules.counts_block(block));
  };
  if (rules.counts || rules.counts_block || rules.was_released) {
    for (const model::ScannedBlock& block : scan.blocks) {
      const bool is_counted = counts(block);
      const bool is_gone = is_counted && rules.was_released && rules.was_released(block);
      if (is_gone) released_since_.add_block(block.size_bytes);
      counted_.push_back(is_counted && !is_gone ? 1 : 0);
    }
  }
  for (size_t i = 0; i < scan.blocks.size(); ++i) {
    const model::ScannedBlock& block = scan.blocks[i];
    if (!is_counted(static_cast<uint32_t>(i))) continue;
    const bool suppressed = is_suppressed(static_cast<uint32_t>(i));
    report::StackLeaks& site = counts_for(block.site);
    if (model::is_pooled(block.number)) is_pooled_[places_[block.site]] = true;
    const BlockState state = classes_.states[i];
    const bool ignored = is_ignored(static_cast<uint32_t>(i));
    (suppressed ? site.suppressed : ignored ? site.ignored : count_for(site, state)).add_block(block.size_bytes);
    if (is_in_cycle(static_cast<uint32_t>(i))) site.in_cycles.add_block(block.size_bytes);
    if (!behind_headers_.empty() && behind_headers_[i] != 0) site.behind_headers.add_block(block.size_bytes);
    const bool is_behind_tags = !behind_tags_.empty() && behind_tags_[i] != 0 && !suppressed && !ignored;
    if (is_behind_tags) behind_tags_count_.add_block(block.size_bytes);
    if (state != BlockState::kIndirect || suppressed || ignored) continue;
    const model::SiteId holder = scan.blocks[classes_.leaders[i]].site;
    note_holder(block.site, holder);
    const uint32_t memory = memory_of(scan, static_cast<uint32_t>(i));
    const bool is_within = memory != model::kNoBlock && is_leak(memory, /*or_possible=*/false);
    if (!is_within) counts_for(holder).below.add_block(block.size_bytes);
  }
}

bool LeakCounts::is_leak(uint32_t block, bool or_possible) const {
  if (!is_counted(block) || is_hidden(block)) return false;
  return is_lost(classes_.states[block]) || (or_possible && classes_.states[block] == BlockState::kPossible);
}

void LeakCounts::count_pooled_apart(const model::HeapScan& scan) {
  for (uint32_t i = 0; i < scan.blocks.size(); ++i) {
    if (!model::is_pooled(scan.blocks[i].number) || !is_leak(i, true)) continue;
    const uint32_t memory = memory_of(scan, i);
    for (const bool or_possible : {false, true}) {
      const bool is_within = memory != model::kNoBlock && is_leak(memory, or_possible);
      if (!is_leak(i, or_possible) || is_within) continue;
      (or_possible ? leaked_apart_ : lost_apart_).add_block(scan.blocks[i].size_bytes);
    }
  }
}

report::StackLeaks& LeakCounts::counts_for(model::SiteId site) {
  if (site >= places_.size()) places_.resize(std::max(site + size_t{1}, 2 * places_.size()), kNoPlace);
  uint32_t& place = places_[site];
  if (place == kNoPlace) {
    place = static_cast<uint32_t>(counts_.size());
    counts_.emplace_back();
    holders_.emplace_back();
    is_pooled_.push_back(false);
  }
  return counts_[place];
}

void LeakCounts::note_holder(model::SiteId site, model::SiteId holder) {
  HoldingSites& known = holders_[places_[site]];
  if (holder == site || holder == known.first) return;
  known.has_more = known.first != kNoSite;
  if (!known.has_more) known.first = holder;
}

void LeakCounts::fill(report::Leaks& leaks) const {
  leaks.scanned = true;
  report::StackLeaks sum;
  report::StackLeaks of_pools;
  for (size_t place = 0; place < counts_.size(); ++place) (is_pooled_[place] ? of_pools : sum) += counts_[place];
  leaks.pools = {.definite = of_pools.definite,
                 .indirect = of_pools.indirect,
                 .possible = of_pools.possible,
                 .reachable = of_pools.reachable,
                 .unknown = of_pools.unknown,
                 .lost_apart = lost_apart_,
                 .leaked_apart = leaked_apart_};
  leaks.definite = sum.definite;
  leaks.indirect = sum.indirect;
  leaks.possible = sum.possible;
  leaks.reachable = sum.reachable;
  leaks.suppressed = sum.suppressed;
  leaks.ignored = sum.ignored;
  leaks.unknown = sum.unknown;
  leaks.behind_headers = sum.behind_headers;
  leaks.behind_tags = behind_tags_count_;
  leaks.released_since = released_since_;
}

}  // namespace heaptap::query
