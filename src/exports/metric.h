// The numbers that each stack has, by name: what a format with one number a stack shows, or with several.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"
#include "report/report.h"

namespace heaptap::exports {

enum class MetricKind : uint8_t {
  kLive,
  kLiveBlocks,
  kPeak,
  kAllocated,
  kAllocations,
  kTemporary,
  kLeaked,
  kLeakedBlocks,
};
inline constexpr size_t kMetricCount = 8;

struct Metric {
  MetricKind kind;
  std::string_view name;   // of an option's value
  std::string_view event;  // one word, for formats whose numbers have names
  std::string_view title;
  bool bytes;  // else a count
  uint64_t (*of)(const report::StackEntry& stack);
  bool (*known)(const report::StackEntry& stack);
  std::string_view cure;  // where it isn't known
};

std::span<const Metric> metrics();
// Those that profiles have, in this order.
constexpr MetricKind kProfileMetrics[] = {MetricKind::kLive,        MetricKind::kPeak,      MetricKind::kAllocated,
                                          MetricKind::kAllocations, MetricKind::kTemporary, MetricKind::kLeaked};

inline const Metric& metric_of(MetricKind kind) { return metrics()[static_cast<size_t>(kind)]; }
// Null: there is none of that name.
const Metric* find_metric(std::string_view name);

// Of all stacks of the heap.
bool is_known(const Metric& metric, const report::Report& report);
// The same, with cause and cure where it isn't.
base::Result<> require(const Metric& metric, const report::Report& report);
uint64_t sum_of(const Metric& metric, const report::Report& report);

}  // namespace heaptap::exports
