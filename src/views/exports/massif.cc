// massif format: live memory at several moments; at the peak and the end with the stacks that held it.
//
// The allocator's overhead is unknown, so mem_heap_extra is 0, as with massif's --heap-admin=0.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "views/exports/frame_text.h"
#include "views/exports/frame_tree.h"
#include "views/exports/profile_writers.h"

namespace heaptap::exports {
namespace {

void write_node(const FrameTree& node, const std::string& label, size_t depth, const report::FrameTable& frames,
                const report::Write& write) {
  write(fmt::format("{:{}}n{}: {} {}\n", "", depth, node.callers.size(), node.weight, label));
  std::vector<const std::pair<const report::FrameIndex, FrameTree>*> callers;
  for (const auto& caller : node.callers) callers.push_back(&caller);
  std::ranges::stable_sort(callers, std::greater<>(), [](const auto* caller) { return caller->second.weight; });
  for (const auto* caller : callers)
    write_node(caller->second, valgrind_text(frames[caller->first]), depth + 1, frames, write);
}

// massif may have counted something other than time.
const char* unit_of(const model::Capture& capture) {
  switch (capture.import.unit) {
    case model::TimeUnit::kInstructions:
      return "i";
    case model::TimeUnit::kAllocatedBytes:
      return "B";
    case model::TimeUnit::kNanoseconds:
      break;
  }
  return "ms";
}

class Snapshots {
 public:
  Snapshots(const report::Report& report, const report::Write& write) : report_(report), write_(write) {}

  void add(uint64_t time_ns, uint64_t bytes) { head(time_ns, bytes, "empty"); }
  void add(uint64_t time_ns, const Metric& metric, const char* kind) {
    const FrameTree tree = build_frame_tree(report_, metric);
    head(time_ns, tree.weight, kind);
    write_node(tree, "(heap allocation functions) malloc/new/new[], --alloc-fns, etc.", 0, report_.frames, write_);
  }

 private:
  void head(uint64_t time_ns, uint64_t bytes, const char* kind) {
    time_ns_ = std::max(time_ns_, time_ns);
    write_(
        fmt::format("#-----------\nsnapshot={}\n#-----------\ntime={}\nmem_heap_B={}\nmem_heap_extra_B=0\n"
                    "mem_stacks_B=0\nheap_tree={}\n",
                    count_++, time_ns_ / (report_.capture.import.has_times() ? 1'000'000 : 1), bytes, kind));
  }

  const report::Report& report_;
  const report::Write& write_;
  size_t count_ = 0;
  uint64_t time_ns_ = 0;  // they ascend
};

}  // namespace

base::Result<> write_massif(const Input& input, const report::Write& write) {
  const report::Report& report = input.report;
  const Metric& peak = metric_of(MetricKind::kPeak);
  const Metric& live = metric_of(MetricKind::kLive);
  HEAPTAP_TRY(require(peak, report));
  HEAPTAP_TRY(require(live, report));
  write(fmt::format("desc: (none)\ncmd: {}\ntime_unit: {}\n", command_of(report.capture), unit_of(report.capture)));
  Snapshots snapshots(report, write);
  snapshots.add(0, 0);
  bool peak_written = false;
  const uint64_t peak_time_ns = report.totals.peak_time_ns.counted();
  for (const report::TimelinePoint& point : report.timeline) {
    if (!peak_written && peak_time_ns <= point.time_ns) {
      snapshots.add(peak_time_ns, peak, "peak");
      peak_written = true;
    }
    if (&point != &report.timeline.back()) snapshots.add(point.time_ns, point.live_bytes);
  }
  if (!peak_written) snapshots.add(peak_time_ns, peak, "peak");
  const uint64_t last_ns = report.timeline.empty() ? 0 : report.timeline.back().time_ns;
  snapshots.add(report.capture.duration_ns != 0 ? report.capture.duration_ns : last_ns, live, "detailed");
  return {};
}

}  // namespace heaptap::exports
