#include "analysis/query/activity_view.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "analysis/query/leak_counts.h"
#include "analysis/query/page_division.h"

namespace heaptap::query {
namespace {

using leaks::BlockState;
using report::LeftState;

// States of a scan's blocks, by block number.
class BlockStates {
 public:
  explicit BlockStates(const JudgedLeaks* judged) {
    if (judged == nullptr) return;
    const std::vector<BlockState>& states = judged->counts.classes().states;
    states_.reserve(states.size());
    for (uint32_t i = 0; i < states.size(); ++i) {
      const LeftState state = judged->counts.is_suppressed(i) ? LeftState::kSuppressed : left_state_of(states[i]);
      states_.emplace(judged->scan.blocks[i].number, state);
    }
  }

  [[nodiscard]] LeftState of(model::BlockNumber number) const {
    const auto found = states_.find(number);
    return found == states_.end() ? LeftState::kNoScan : found->second;
  }

 private:
  static LeftState left_state_of(BlockState state) {
    switch (state) {
      case BlockState::kReachable:
        return LeftState::kReachable;
      case BlockState::kPossible:
        return LeftState::kPossible;
      case BlockState::kIndirect:
        return LeftState::kIndirect;
      case BlockState::kDefinite:
        return LeftState::kDefinite;
      case BlockState::kUnknown:
        break;
    }
    return LeftState::kUnknown;
  }

  boost::unordered_flat_map<model::BlockNumber, LeftState> states_;
};

// Sites with the same stack are merged.
std::vector<report::ActivityCell> cells_of(const ledger::Activity& activity, const StackRows& rows) {
  std::vector<report::ActivityCell> cells;
  for (const ledger::ActivityRow& row : activity.rows()) {
    const uint32_t stack = rows.of(row.key.site);
    if (stack == StackRows::kNoRow) continue;
    cells.push_back({.stack = stack,
                     .thread = row.key.thread,
                     .bin = row.bin,
                     .size_class = row.key.size_class,
                     .allocations = row.counts.allocations,
                     .allocated_bytes = row.counts.allocated_bytes,
                     .releases = row.counts.releases,
                     .released_bytes = row.counts.released_bytes,
                     .temporary = row.counts.temporary});
  }
  report::unite(cells);
  return cells;
}

std::vector<report::LeftCell> left_of(const ledger::Ledger& ledger, const StackRows& rows, const BlockStates& states) {
  using Key = std::tuple<uint32_t, uint32_t, uint32_t, uint8_t, LeftState>;
  std::map<Key, report::BlockCount> sums;
  const ledger::Activity& activity = *ledger.activity();
  ledger.for_each_block([&](model::BlockNumber number, const ledger::Block& block) {
    const uint32_t stack = rows.of(block.site);
    if (stack == StackRows::kNoRow) return;
    const uint64_t blocks = ledger.blocks_of(number, block);
    sums[{activity.bin_at(block.allocated_at_ns), stack, block.thread, ledger::size_class_of(block.size_bytes),
          states.of(number)}] += {.blocks = blocks, .bytes = blocks * block.size_bytes};
  });
  std::vector<report::LeftCell> left;
  left.reserve(sums.size());
  for (const auto& [key, count] : sums) {
    const auto& [bin, stack, thread, size_class, state] = key;
    left.push_back({.stack = stack,
                    .thread = thread,
                    .bin = bin,
                    .size_class = size_class,
                    .state = state,
                    .blocks = count.blocks,
                    .bytes = count.bytes});
  }
  return left;
}

struct Extent {
  uint64_t address;
  uint64_t size_bytes;
  uint32_t stack;
};

// By address: block numbers are not in that order.
std::vector<Extent> extents_of(const ledger::Ledger& ledger, const StackRows& rows) {
  std::vector<Extent> extents;
  ledger.for_each_block([&](model::BlockNumber /*number*/, const ledger::Block& block) {
    const uint32_t stack = rows.of(block.site);
    if (stack != StackRows::kNoRow) extents.push_back({block.address, std::max<uint64_t>(block.size_bytes, 1), stack});
  });
  std::ranges::sort(extents, {}, &Extent::address);
  return extents;
}

// None: more than `limit`. Of a block of many pages only the ends are listed: the pages in between are full.
std::optional<std::vector<report::PageUse>> pages_of(const std::vector<Extent>& extents, size_t stack_count,
                                                     uint64_t page_bytes, size_t limit) {
  std::vector<report::PageUse> pages;
  PageDivision division(page_bytes, stack_count, [&pages](const DividedPage& page) {
    const auto weight = [](const PageShare& share) { return std::pair(share.bytes, ~share.group); };
    const auto most = std::ranges::max_element(page.shares, {}, weight);
    pages.push_back({page.address, page.used_bytes, page.parts, most->group});
  });
  uint64_t next = 0;  // the first address that hasn't been counted
  for (const Extent& extent : extents) {
    const uint64_t begin = std::max(extent.address, next);
    const uint64_t end = extent.address + std::min(extent.size_bytes, ~extent.address);
    if (begin >= end) continue;
    next = end;
    division.add({begin, end}, extent.stack);
    if (pages.size() > limit) return std::nullopt;
  }
  division.finish();
  return pages.size() > limit ? std::nullopt : std::optional(std::move(pages));
}

// Of blocks in order of their addresses. A trace may claim any address and size: ends beyond the address space are
// clamped.
std::vector<report::BlockSpan> spans_of(const std::vector<Extent>& extents, uint64_t page_bytes, uint64_t max_gap) {
  std::vector<report::BlockSpan> spans;
  uint64_t end = 0;        // of the last span
  uint64_t next_page = 0;  // the first one that isn't included
  for (const Extent& extent : extents) {
    const uint64_t last = extent.address + std::min(extent.size_bytes - 1, ~extent.address);
    if (spans.empty() || (extent.address > end && extent.address - end > max_gap)) {
      spans.push_back({.address = extent.address});
      end = extent.address;
    }
    end = std::max(end, last);
    report::BlockSpan& span = spans.back();
    span.length = std::max(end - span.address, end - span.address + 1);
    span.live_bytes += extent.size_bytes;
    ++span.blocks;
    const uint64_t first_page = std::max(extent.address / page_bytes, next_page);
    const uint64_t last_page = last / page_bytes;
    if (last_page < first_page) continue;
    span.touched_bytes += (last_page - first_page + 1) * page_bytes;
    next_page = last_page + 1;
  }
  return spans;
}

}  // namespace

StackRows::StackRows(const report::Report& report, const StackIndex& index)
    : index_(index), rows_(index.group_count() + 1, kNoRow), count_(report.stacks.size()) {
  for (size_t row = 0; row < report.stacks.size(); ++row) rows_[report.stacks[row].id] = static_cast<uint32_t>(row);
}

report::Activity activity_view(const ledger::Ledger& ledger, const StackRows& rows, const JudgedLeaks* judged) {
  const ledger::Activity& activity = *ledger.activity();
  return {.start_ns = activity.start_ns(),
          .width_ns = activity.width_ns(),
          .bin_count = activity.bin_count(),
          .cells = cells_of(activity, rows),
          .left = left_of(ledger, rows, BlockStates(judged))};
}

namespace {

void fill_spans(report::AddressSpace& space, const std::vector<Extent>& extents, uint64_t page_bytes) {
  constexpr uint64_t kGap = uint64_t{1} << 20;
  constexpr size_t kMaxSpans = 2048;
  for (space.max_gap_bytes = kGap;; space.max_gap_bytes *= 4) {
    space.spans = spans_of(extents, page_bytes, space.max_gap_bytes);
    if (space.spans.size() <= kMaxSpans || space.max_gap_bytes > (~uint64_t{0} >> 3)) return;
  }
}

}  // namespace

report::AddressSpace address_space_view(const ledger::Ledger& ledger, const StackRows& rows, uint64_t page_bytes,
                                        size_t limit) {
  const std::vector<Extent> extents = extents_of(ledger, rows);
  report::AddressSpace space{.page_bytes = page_bytes, .pages = {}};
  for (;; space.page_bytes *= 4) {
    auto pages = pages_of(extents, rows.count(), space.page_bytes, limit);
    if (!pages) continue;
    space.pages = *std::move(pages);
    fill_spans(space, extents, page_bytes);
    return space;
  }
}

}  // namespace heaptap::query
