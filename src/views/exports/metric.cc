#include "views/exports/metric.h"

#include <algorithm>
#include <array>

namespace heaptap::exports {
namespace {

using Figure = base::Known<uint64_t>;
using report::StackEntry;

constexpr std::string_view kAggregated = "--aggregate doesn't record them: record without it";
constexpr std::string_view kUnscanned = "the trace has no leak scan: record with --leak-scan";

report::BlockCount lost_in(const StackEntry& stack) { return stack.leaks->lost(); }

constexpr std::array<Metric, kMetricCount> kMetrics{{
    {MetricKind::kLive, "live", "LiveBytes", "live bytes", true,
     [](const StackEntry& stack) { return stack.live_bytes; }, kAggregated},
    {MetricKind::kLiveBlocks, "live-blocks", "LiveBlocks", "live blocks", false,
     [](const StackEntry& stack) { return stack.live_blocks; }, kAggregated},
    {MetricKind::kPeak, "peak", "PeakBytes", "bytes at the peak", true,
     [](const StackEntry& stack) { return stack.peak_bytes; }, kAggregated},
    {MetricKind::kAllocated, "allocated", "AllocatedBytes", "allocated bytes", true,
     [](const StackEntry& stack) { return stack.allocated_bytes; }, kAggregated},
    {MetricKind::kAllocations, "allocations", "Allocations", "allocations", false,
     [](const StackEntry& stack) { return stack.allocations; }, kAggregated},
    {MetricKind::kTemporary, "temporary", "Temporary", "temporary allocations", false,
     [](const StackEntry& stack) { return stack.temporary_allocations; }, kAggregated},
    {MetricKind::kLeaked, "leaked", "LeakedBytes", "leaked bytes", true,
     [](const StackEntry& stack) { return Figure(lost_in(stack).bytes, bool(stack.leaks)); }, kUnscanned},
    {MetricKind::kLeakedBlocks, "leaked-blocks", "LeakedBlocks", "leaked blocks", false,
     [](const StackEntry& stack) { return Figure(lost_in(stack).blocks, bool(stack.leaks)); }, kUnscanned},
}};

// Also for a report without stacks.
bool is_recorded(const Metric& metric, const report::Report& report) {
  switch (metric.kind) {
    case MetricKind::kLive:
      return report.totals.live_bytes.is_known();
    case MetricKind::kLiveBlocks:
      return report.totals.live_blocks.is_known();
    case MetricKind::kPeak:
      return report.has_events && report.totals.peak_live_bytes.is_known();
    case MetricKind::kAllocated:
    case MetricKind::kAllocations:
      return report.totals.allocations.is_known();
    case MetricKind::kTemporary:
      return report.totals.temporary_allocations.is_known();
    case MetricKind::kLeaked:
    case MetricKind::kLeakedBlocks:
      return report.leaks.scanned;
  }
  return false;
}

}  // namespace

std::span<const Metric> metrics() { return kMetrics; }

const Metric* find_metric(std::string_view name) {
  const auto* metric = std::ranges::find(kMetrics, name, &Metric::name);
  return metric == kMetrics.end() ? nullptr : metric;
}

bool is_known(const Metric& metric, const report::Report& report) {
  return is_recorded(metric, report) && std::ranges::all_of(report.stacks, [&](const StackEntry& stack) {
           return stack.is_apart() || metric.of(stack).is_known();
         });
}

base::Result<> require(const Metric& metric, const report::Report& report) {
  if (is_known(metric, report)) return {};
  const std::string& tool = report.capture.import.tool;
  if (!tool.empty()) return base::fail("{} are unknown: {}'s file doesn't have them", metric.title, tool);
  return base::fail("{} are unknown for this trace: {}", metric.title, metric.cure);
}

uint64_t sum_of(const Metric& metric, const report::Report& report) {
  uint64_t sum = 0;
  for (const StackEntry& stack : report.stacks) sum += stack.is_apart() ? 0 : metric.of(stack).counted();
  return sum;
}

}  // namespace heaptap::exports
