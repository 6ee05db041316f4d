// One function a view; the summary's layout is the documented one, the others follow it.
#include <fmt/format.h>

#include "report/call_tree.h"
#include "report/json_values.h"
#include "report/render.h"

namespace heaptap::report {
namespace {

constexpr size_t kMaxTreeFrames = 255;

const auto kSelf = [](const auto& entry) { return json_of(entry); };

// `hex` of an address that may be unknown.
Json address_json(uint64_t address) { return address == 0 ? Json(nullptr) : Json(fmt::format("{:#x}", address)); }

std::string summary(const Report& report) {
  JsonDocument document("summary", report);
  document.member("totals", json_of(report.totals));
  document.member("leaks", json_of(report.leaks));
  document.list("errors", report.errors, kSelf);
  document.member("errors_listed", report.errors_requested);
  document.member("errors_dropped", report.errors_dropped);
  document.member("stack_count", report.stack_count);
  document.list("stacks", report.stacks, kSelf);
  document.member("hints", report.hints);
  if (!report.processes.empty()) {
    document.list("processes", report.processes, kSelf);
    document.member("all_processes", sum_json(report.processes));
  }
  return document.finish();
}

std::string stack_list(const char* view, const Report& report) {
  JsonDocument document(view, report);
  document.member("totals", json_of(report.totals));
  document.member("leaks", json_of(report.leaks));
  document.member("sort", report.sort_key);
  document.member("stack_count", report.stack_count);
  document.list("stacks", report.stacks, kSelf);
  return document.finish();
}

Json tree_json(const TreeNode& node) {
  Json value = json_of(node.frame);
  value["weight"] = node.weight;
  value["allocations"] = node.allocations;
  value["live_blocks"] = node.live_blocks;
  value["children"] = Json::array();
  for (const TreeNode& child : node.children) {
    value["children"].push_back(tree_json(child));
  }
  return value;
}

std::string tree(const Report& report, bool bottom_up) {
  const Weight weight = choose_weight(report);
  const TreeNode root = build_tree(report, weight, bottom_up, kMaxTreeFrames);
  JsonDocument document("tree", report);
  document.member("weight", name_of(weight));
  document.member("bottom_up", bottom_up);
  document.member("total", root.weight);
  document.list("children", root.children, tree_json);
  return document.finish();
}

std::string stats(const Report& report) {
  JsonDocument document("stats", report);
  document.member("totals", json_of(report.totals));
  document.member("stack_count", report.stack_count);
  document.list("threads", report.threads, [](const ThreadEntry& thread) -> Json {
    return {{"number", thread.number},
            {"kernel_id", thread.kernel_id == 0 ? Json(nullptr) : Json(thread.kernel_id)},
            {"name", thread.name.empty() ? Json(nullptr) : Json(thread.name)},
            {"allocations", thread.allocations},
            {"frees", thread.releases},
            {"allocated_bytes", thread.allocated_bytes}};
  });
  document.member("collector", {{"cpu_ns", report.capture.collector_cpu_ns},
                                {"peak_rss_bytes", report.capture.collector_peak_rss_bytes},
                                {"log_bytes_used", report.capture.log_bytes_used},
                                {"trace_bytes", report.capture.trace_bytes}});
  return document.finish();
}

std::string sizes(const Report& report) {
  JsonDocument document("sizes", report);
  if (!report.sizes_known) {
    for (const char* name : {"classes", "sizes", "uncounted_allocations"}) document.member(name, nullptr);
    return document.finish();
  }
  const bool counts = report.has_events;
  document.list("classes", report.size_classes, [counts](const SizeClass& size) -> Json {
    return {{"lowest", size.lowest},
            {"highest", size.highest},
            {"allocations", known(counts, size.allocations)},
            {"allocated_bytes", known(counts, size.allocated_bytes)},
            {"live_blocks", size.live_blocks},
            {"live_bytes", size.live_bytes}};
  });
  document.list("sizes", report.top_sizes, [counts](const ExactSize& size) -> Json {
    return {
        {"size", size.size_bytes}, {"allocations", known(counts, size.allocations)}, {"live_blocks", size.live_blocks}};
  });
  document.member("uncounted_allocations", known(counts, report.uncounted_allocations));
  return document.finish();
}

std::string lifetimes(const Report& report) {
  JsonDocument document("lifetimes", report);
  if (!report.has_events)
    document.member("lifetimes", nullptr);
  else
    document.list("lifetimes", report.lifetimes, [](const LifetimeClass& lifetime) -> Json {
      return {{"lowest_ns", lifetime.lowest_ns},
              {"highest_ns", lifetime.highest_ns == 0 ? Json(nullptr) : Json(lifetime.highest_ns)},
              {"blocks", lifetime.blocks},
              {"bytes", lifetime.bytes}};
    });
  document.member("live_blocks", known(report.totals.live_known, report.totals.live_blocks));
  document.member("live_bytes", known(report.totals.live_known, report.totals.live_bytes));
  return document.finish();
}

std::string timeline(const Report& report) {
  JsonDocument document("timeline", report);
  document.member("start_ns", report.timeline_start_ns);
  if (!report.has_events)
    document.member("points", nullptr);
  else
    document.list("points", report.timeline, [](const TimelinePoint& point) -> Json {
      return {{"time_ns", point.time_ns},          {"live_bytes", point.live_bytes},
              {"live_blocks", point.live_blocks},  {"peak_live_bytes", point.peak_live_bytes},
              {"allocations", point.allocations},  {"frees", point.releases},
              {"mapped_bytes", point.mapped_bytes}};
    });
  return document.finish();
}

std::string blocks(const Report& report) {
  JsonDocument document("blocks", report);
  document.member("live_blocks", known(report.totals.live_known, report.totals.live_blocks));
  document.member("live_bytes", known(report.totals.live_known, report.totals.live_bytes));
  if (!report.has_events)
    document.member("blocks", nullptr);
  else
    document.list("blocks", report.blocks, [](const BlockEntry& block) -> Json {
      return {{"number", block.number},     {"address", address_json(block.address)},
              {"size", block.size_bytes},   {"allocated_at_ns", block.allocated_at_ns},
              {"thread", block.thread},     {"stack", block.stack_id},
              {"function", block.function}, {"caller", json_of(block.caller)}};
    });
  return document.finish();
}

}  // namespace

std::string render_json(const Report& report, View view, const RenderOptions& options) {
  switch (view) {
    case View::kSummary:
      return summary(report);
    case View::kLeaks:
      return stack_list("leaks", report);
    case View::kTop:
      return stack_list("top", report);
    case View::kTree:
      return tree(report, options.bottom_up);
    case View::kStats:
      return stats(report);
    case View::kSizes:
      return sizes(report);
    case View::kLifetimes:
      return lifetimes(report);
    case View::kTimeline:
      return timeline(report);
    case View::kBlocks:
      return blocks(report);
    case View::kHolders:
      return json_holders(report);
    case View::kRetained:
      return json_retained(report);
    case View::kGlobals:
      return json_globals(report);
    case View::kScans:
      return json_scans(report);
    case View::kScanChanges:
      return json_scan_changes(report);
  }
  return "";
}

}  // namespace heaptap::report
