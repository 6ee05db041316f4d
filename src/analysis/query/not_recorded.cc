#include "analysis/query/not_recorded.h"

#include <algorithm>

namespace heaptap::query {
namespace {

using model::Import;

void leave_out_figures(const Import& import, report::Totals& totals) {
  if (!import.has_times()) totals.peak_time_ns.set_unknown();
  if (!import.tells(model::kNotRecordedReleaseErrors)) {
    totals.set_bad_frees_unknown();
    totals.mismatched_releases.set_unknown();
  }
  if (import.tells(model::kNotRecordedCounts)) return;
  totals.set_calls_unknown();
  base::set_unknown(totals.live_blocks, totals.peak_live_blocks, totals.temporary_allocations);
}

void leave_out_counts(report::TimelinePoint& point) {
  base::set_unknown(point.live_blocks, point.allocations, point.releases, point.mapped_bytes,
                    point.mapped_memory_bytes);
}

void leave_out(const Import& import, report::StackEntry& stack) {
  if (!import.tells(model::kNotRecordedReleaseErrors)) stack.mismatched_releases.set_unknown();
  stack.threads_known = import.tells(model::kNotRecordedThreads);
  if (!stack.threads_known) stack.threads.clear();
  if (!import.tells(model::kNotRecordedLifetimes)) stack.lifetime_ns.set_unknown();
  if (import.tells(model::kNotRecordedCounts)) return;
  stack.set_calls_unknown();
  base::set_unknown(stack.live_blocks, stack.temporary_allocations);
}

// Without times there is one interval.
void put_into_one_bin(report::Activity& activity) {
  activity.start_ns = 0;
  activity.width_ns = activity.bin_count = 1;
  for (report::ActivityCell& cell : activity.cells) cell.bin = 0;
  for (report::LeftCell& cell : activity.left) cell.bin = 0;
  unite(activity.cells);
  unite(activity.left);
}

}  // namespace

base::Result<> check_not_recorded(const model::Capture& capture, const ResolvedQuery& query) {
  const Import& import = capture.import;
  const auto refuse = [&](const char* option, const char* what) {
    return base::fail_as(base::ErrorKind::kUsage, "{}: {}'s file doesn't have {}; a recording by `heaptap run` does",
                         option, import.tool, what);
  };
  if (!import.tells(model::kNotRecordedThreads) && query.asked.filter.thread != 0) return refuse("--thread", "threads");
  if (!import.tells(model::kNotRecordedLifetimes) && query.sort == SortKey::kTime)
    return refuse("--sort time", "lifetimes");
  if (!import.tells(model::kNotRecordedReleaseErrors) &&
      (query.sort == SortKey::kBadFrees || query.sort == SortKey::kMismatched)) {
    return refuse("--sort", "bad releases");
  }
  if (!import.has_times() && query.asked.window.is_given()) {
    return base::fail_as(base::ErrorKind::kUsage,
                         "--from and --to: this file of {} has no times; make it with --time-unit=ms", import.tool);
  }
  if (import.tells(model::kNotRecordedCounts)) return {};
  if (query.span.first.time_ns != 0) return refuse("--from", "allocation times");
  const auto counts = {SortKey::kAllocations, SortKey::kAverage, SortKey::kTotal, SortKey::kLeaks, SortKey::kTemporary};
  if (std::ranges::find(counts, query.sort) != counts.end()) return refuse("--sort", "calls");
  return {};
}

void leave_out_not_recorded(const Import& import, report::Totals& totals) {
  if (!import.tool.empty()) leave_out_figures(import, totals);
}

void leave_out_not_recorded(report::Report& report) {
  const Import& import = report.capture.import;
  if (import.tool.empty()) return;
  for (report::StackEntry& stack : report.stacks) leave_out(import, stack);
  if (!import.tells(model::kNotRecordedThreads)) report.threads.reset();
  if (!import.tells(model::kNotRecordedLifetimes)) {
    report.lifetimes.reset();
    report.blocks.reset();
    for (report::StackCount& count : report.counts) count.set_lifetimes_unknown();
  }
  report.address_space.reset();
  if (report.activity && !import.has_times()) put_into_one_bin(*report.activity);
  if (import.tells(model::kNotRecordedCounts)) return;
  for (report::StackCount& count : report.counts) count.live_blocks.set_unknown();
  for (report::TimelinePoint& point : report.timeline) leave_out_counts(point);
  report.sizes.reset();
}

}  // namespace heaptap::query
