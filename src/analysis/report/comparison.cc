#include "analysis/report/comparison.h"

namespace heaptap::report {

const std::array<FigureFacts, kFigureCount>& figures() {
  static constexpr std::array<FigureFacts, kFigureCount> kFacts{{
      {Figure::kLiveBytes, "live_bytes", "live", true},
      {Figure::kLiveBlocks, "live_blocks", "blocks", false},
      {Figure::kPeakBytes, "peak_bytes", "peak", true},
      {Figure::kAllocatedBytes, "allocated_bytes", "allocated", true},
      {Figure::kAllocations, "allocations", "allocations", false},
      {Figure::kReleasedBytes, "freed_bytes", "freed", true},
      {Figure::kReleases, "frees", "frees", false},
      {Figure::kTemporary, "temporary_allocations", "temporary", false},
      {Figure::kLeakedBytes, "leaked_bytes", "leaked", true},
      {Figure::kLeakedBlocks, "leaked_blocks", "leaked-blocks", false},
  }};
  return kFacts;
}

const FigureFacts& facts_of(Figure figure) { return figures()[static_cast<size_t>(figure)]; }

Figures& Figures::operator+=(const Figures& other) {
  for (size_t i = 0; i < values_.size(); ++i) {
    known_[i] = known_[i] && other.known_[i];
    values_[i] = known_[i] ? values_[i] + other.values_[i] : 0;
  }
  return *this;
}

namespace {

std::optional<uint64_t> less(const std::optional<uint64_t>& whole, const std::optional<uint64_t>& part) {
  return whole && part && *whole >= *part ? std::optional(*whole - *part) : std::nullopt;
}

}  // namespace

Figures figures_of(const StackEntry& stack) {
  Figures values;
  values.set(Figure::kLiveBytes, stack.own_live_bytes().if_known());
  values.set(Figure::kLiveBlocks, stack.live_blocks.if_known());
  values.set(Figure::kPeakBytes, stack.own_peak_bytes().if_known());
  values.set(Figure::kAllocatedBytes, stack.own_allocated_bytes().if_known());
  values.set(Figure::kAllocations, stack.allocations.if_known());
  values.set(Figure::kReleasedBytes, less(values[Figure::kAllocatedBytes], values[Figure::kLiveBytes]));
  values.set(Figure::kReleases, stack.releases.if_known());
  values.set(Figure::kTemporary, stack.temporary_allocations.if_known());
  if (stack.leaks) {
    values.set(Figure::kLeakedBytes, stack.leaks->lost().bytes);
    values.set(Figure::kLeakedBlocks, stack.leaks->lost().blocks);
  }
  return values;
}

Figures figures_of(const Report& report) {
  const Totals& totals = report.totals;
  Figures values;
  values.set(Figure::kLiveBytes, totals.live_bytes.if_known());
  values.set(Figure::kLiveBlocks, totals.live_blocks.if_known());
  values.set(Figure::kPeakBytes, totals.peak_live_bytes.if_known());
  values.set(Figure::kAllocatedBytes, totals.allocated_bytes.if_known());
  values.set(Figure::kAllocations, totals.allocations.if_known());
  values.set(Figure::kReleasedBytes, less(values[Figure::kAllocatedBytes], values[Figure::kLiveBytes]));
  values.set(Figure::kReleases, totals.releases.if_known());
  values.set(Figure::kTemporary, totals.temporary_allocations.if_known());
  if (report.leaks.scanned) {
    values.set(Figure::kLeakedBytes, report.leaks.definite.bytes + report.leaks.indirect.bytes);
    values.set(Figure::kLeakedBlocks, report.leaks.definite.blocks + report.leaks.indirect.blocks);
  }
  return values;
}

std::string_view name_of(StackState state) {
  switch (state) {
    case StackState::kNew:
      return "new";
    case StackState::kGone:
      return "gone";
    case StackState::kGrown:
      return "grown";
    case StackState::kShrunk:
      return "shrunk";
    case StackState::kSame:
      return "same";
    case StackState::kUnknown:
      break;
  }
  return "unknown";
}

std::optional<int64_t> change_of(const std::optional<uint64_t>& before, const std::optional<uint64_t>& after) {
  if (!before || !after) return std::nullopt;
  return static_cast<int64_t>(*after - *before);
}

std::optional<int64_t> ComparedStack::change(Figure figure) const {
  return change_of(sides.front().figures[figure], sides.back().figures[figure]);
}

std::optional<int64_t> Comparison::change(Figure figure) const {
  return change_of(recordings.front().totals[figure], recordings.back().totals[figure]);
}

}  // namespace heaptap::report
