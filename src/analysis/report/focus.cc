#include "analysis/report/focus.h"

#include <algorithm>
#include <optional>

#include "analysis/report/leak_weight.h"
#include "analysis/report/process_sums.h"

namespace heaptap::report {
namespace {

// Left: a quarter of the peak is what programs keep on purpose (caches, tables); less doesn't explain the peak.
constexpr uint64_t kPeakOverLeft = 4;
// Temporary allocations cost time, not memory: fewer calls than these cost less than a millisecond.
constexpr uint64_t kLeastTemporary = 1000;
// Half of all calls: then the others aren't the larger part of the cost.
constexpr uint64_t kCallsOverTemporary = 2;
// Allocated bytes over the peak: memory that is used so many times over was never held together.
constexpr uint64_t kTurnover = 32;
// Allocated bytes over those left: next to nothing.
constexpr uint64_t kAllocatedOverLeft = 100;

uint64_t without(uint64_t bytes, uint64_t other) { return bytes - std::min(bytes, other); }

// Held at the end and at the peak, without what libraries keep.
struct Held {
  uint64_t left = 0;
  uint64_t peak = 0;
};

std::optional<Held> held_of(const Report& report) {
  const Totals& totals = report.totals;
  const auto live = totals.live_bytes.if_known();
  const auto peak = peak_of(report).if_known();
  // Of older traces how much was only reserved is unknown: the whole address space is at least as much.
  const auto mapped = totals.mapped.are_known() && totals.mapped_live_bytes.is_known()
                          ? std::optional(totals.mapped.memory.live_bytes)
                          : totals.mapped_live_bytes.if_known();
  if (!live || !peak || !mapped) return std::nullopt;
  // The peak is of blocks alone. What is mapped was left in its place only if there was more of it: an interpreter keeps some arenas.
  const bool is_smaller = totals.mapped.are_known() && totals.mapped.memory.peak_bytes <= *peak;
  const uint64_t kept = kept_by_libraries(report.leaks);
  return Held{without(*live, kept) + (is_smaller ? 0 : *mapped), without(*peak, kept)};
}

bool is_temporary(const Report& report, const Held& held) {
  const Totals& totals = report.totals;
  const auto calls = totals.allocations.if_known();
  const auto temporary = totals.temporary_allocations.if_known();
  const auto bytes = totals.allocated_bytes.if_known();
  if (!calls || !temporary || !bytes) return false;
  return *temporary >= kLeastTemporary && *temporary >= *calls / kCallsOverTemporary &&
         held.peak <= *bytes / kTurnover && held.left <= *bytes / kAllocatedOverLeft;
}

// Of totals or a stack, which name these figures alike, but for the peak's.
uint64_t figure_of(Focus focus, const auto& figures, const auto& peak_bytes) {
  switch (focus) {
    case Focus::kPeak:
      return peak_bytes.if_known().value_or(0);
    case Focus::kTemporary:
      return figures.temporary_allocations.if_known().value_or(0);
    case Focus::kLive:
      break;
  }
  return figures.live_bytes.if_known().value_or(0);
}

}  // namespace

std::string_view name_of(Focus focus) {
  switch (focus) {
    case Focus::kPeak:
      return "peak";
    case Focus::kTemporary:
      return "temporary";
    case Focus::kLive:
      break;
  }
  return "live";
}

uint64_t whole_of(Focus focus, const Report& report) { return figure_of(focus, report.totals, peak_of(report)); }

uint64_t part_of(Focus focus, const StackEntry& stack) { return figure_of(focus, stack, stack.peak_bytes); }

Focus focus_of(const Report& report) {
  const model::Capture& capture = report.capture;
  const bool is_at_end = capture.ended && !capture.running;
  // Of a window that begins later what it left is asked, against what was there before.
  const bool has_older = report.window && report.window->has_older;
  if (!is_at_end || has_older) return Focus::kLive;
  const std::optional<Held> held = held_of(report);
  if (!held) return Focus::kLive;
  if (is_temporary(report, *held)) return Focus::kTemporary;
  // Totals alone don't say which stacks held the peak.
  return report.has_events && held->left < held->peak / kPeakOverLeft ? Focus::kPeak : Focus::kLive;
}

}  // namespace heaptap::report
