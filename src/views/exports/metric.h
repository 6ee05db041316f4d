// Metrics of a stack by name, for formats that show one or several numbers per stack.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "analysis/report/report.h"
#include "common/base/result.h"

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
  std::string_view name;   // value of the option
  std::string_view event;  // one word, for formats with named numbers
  std::string_view title;
  bool bytes;  // else a count
  base::Known<uint64_t> (*of)(const report::StackEntry& stack);
  std::string_view cure;  // remedy if it is unknown
};

std::span<const Metric> metrics();
// Metrics of profile formats, in this order.
constexpr MetricKind kProfileMetrics[] = {MetricKind::kLive,        MetricKind::kPeak,      MetricKind::kAllocated,
                                          MetricKind::kAllocations, MetricKind::kTemporary, MetricKind::kLeaked};

inline const Metric& metric_of(MetricKind kind) { return metrics()[static_cast<size_t>(kind)]; }
// Null if unknown.
const Metric* find_metric(std::string_view name);

// Whether the metric is known for all heap stacks.
bool is_known(const Metric& metric, const report::Report& report);
// Same, with cause and remedy as the error.
base::Result<> require(const Metric& metric, const report::Report& report);
uint64_t sum_of(const Metric& metric, const report::Report& report);

}  // namespace heaptap::exports
