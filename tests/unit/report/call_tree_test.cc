#include "analysis/report/call_tree.h"

#include <gtest/gtest.h>

#include <utility>

namespace heaptap::report {
namespace {

TEST(CallTree, IsWeighedByTheSortKey) {
  Report report;
  report.totals.live_bytes = 10;
  for (const auto& [key, weight] :
       {std::pair{"usage", Weight::kLiveBytes}, std::pair{"peak", Weight::kPeakBytes},
        std::pair{"temporary", Weight::kTemporary}, std::pair{"total", Weight::kAllocatedBytes},
        std::pair{"average", Weight::kAllocatedBytes}, std::pair{"allocations", Weight::kAllocations}}) {
    report.sort_key = key;
    EXPECT_EQ(choose_weight(report), weight) << key;
  }
}

TEST(CallTree, IsNeverWeighedByAPeakThatTheStacksDoNotKnow) {
  Report report;
  report.sort_key = "peak";
  report.totals.live_bytes = 10;
  report.has_events = false;
  EXPECT_EQ(choose_weight(report), Weight::kLiveBytes);
}

TEST(CallTree, AddsUpTemporaryAllocations) {
  Report report;
  for (uint64_t count : {3, 4}) report.stacks.emplace_back().temporary_allocations = count;
  EXPECT_EQ(build_tree(report, Weight::kTemporary, false, [](const FrameList&) { return size_t{0}; }).weight, 7u);
}

}  // namespace
}  // namespace heaptap::report
