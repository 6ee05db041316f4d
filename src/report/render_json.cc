// One function a view; the summary's layout is the documented one, the others follow it.
#include <fmt/format.h>

#include "report/call_tree.h"
#include "report/json_values.h"
#include "report/process_sums.h"
#include "report/render.h"

namespace heaptap::report {
namespace {

constexpr size_t kMaxTreeFrames = 255;

const auto kSelf = [](const auto& entry) { return json_of(entry); };

// `hex` of an address that may be unknown.
Json address_json(uint64_t address) { return address == 0 ? Json(nullptr) : Json(fmt::format("{:#x}", address)); }

void add_stacks(JsonDocument& document, const Report& report) {
  document.begin_list("stacks");
  for (const StackEntry& stack : report.stacks) document.add(text_of(stack));
  document.end_list();
}

void add_processes(JsonDocument& document, const Report& report) {
  document.list("processes", report.processes, kSelf);
  document.member("all_processes", sum_json(report.processes));
}

void summary(const Report& report, const Write& write) {
  JsonDocument document("summary", report, write);
  document.member("totals", json_of(report.totals));
  document.member("leaks", json_of(report.leaks));
  document.list("errors", report.errors, kSelf);
  document.member("errors_listed", report.errors_requested);
  document.member("errors_dropped", report.errors_dropped);
  document.member("stack_count", report.stack_count);
  add_stacks(document, report);
  if (!report.processes.empty()) add_processes(document, report);
  document.frames(report);
}

void processes(const Report& report, const Write& write) {
  JsonDocument document("processes", report, write);
  add_processes(document, report);
}

void programs(const Report& report, const Write& write) {
  JsonDocument document("programs", report, write);
  document.list("programs", programs_of(report.processes), [](const ProgramEntry& program) -> Json {
    return {{"program", program.program}, {"processes", sum_json(program.processes)}};
  });
  document.member("all_processes", sum_json(report.processes));
}

void stack_list(const char* view, const Report& report, const Write& write) {
  JsonDocument document(view, report, write);
  document.member("totals", json_of(report.totals));
  document.member("leaks", json_of(report.leaks));
  document.member("sort", report.sort_key);
  document.member("stack_count", report.stack_count);
  add_stacks(document, report);
  document.frames(report);
}

void labels(const char* view, const Report& report, const Write& write) {
  JsonDocument document(view, report, write);
  document.member("totals", json_of(report.totals));
  document.member("sort", report.sort_key);
  document.list(view, report.labels, kSelf);
}

// `frame` is null of the function that was called, which has a name alone.
void add_node(const TreeNode& node, const Totals& totals, std::string& text) {
  const auto number = [](bool is_known, uint64_t value) { return is_known ? fmt::format("{}", value) : "null"; };
  const bool is_called = node.frame == kNoFrame;
  text += fmt::format(R"({{"frame":{},"function":{},"weight":{},"allocations":{},"live_blocks":{},"children":[)",
                      is_called ? "null" : fmt::format("{}", node.frame),
                      is_called ? to_text(Json(node.function)) : "null", node.weight,
                      number(totals.calls_known, node.allocations), number(totals.blocks_known, node.live_blocks));
  for (const TreeNode& child : node.children) {
    if (&child != node.children.data()) text += ',';
    add_node(child, totals, text);
  }
  text += "]}";
}

void tree(const Report& report, bool bottom_up, const Write& write) {
  const Weight weight = choose_weight(report);
  const TreeNode root = build_tree(report, weight, bottom_up,
                                   [](const FrameList& frames) { return std::min(frames.size(), kMaxTreeFrames); });
  JsonDocument document("tree", report, write);
  document.member("weight", name_of(weight));
  document.member("bottom_up", bottom_up);
  document.member("total", root.weight);
  document.begin_list("children");
  for (const TreeNode& child : root.children) {
    std::string text;
    add_node(child, report.totals, text);
    document.add(text);
  }
  document.end_list();
  document.frames(report);
}

void stats(const Report& report, const Write& write) {
  JsonDocument document("stats", report, write);
  document.member("totals", json_of(report.totals));
  document.member("stack_count", report.stack_count);
  if (!report.threads_known)
    document.member("threads", nullptr);
  else
    document.list("threads", report.threads, [](const ThreadEntry& thread) -> Json {
      return {{"number", thread.number},
              {"kernel_id", thread.kernel_id == 0 ? Json(nullptr) : Json(thread.kernel_id)},
              {"name", thread.name.empty() ? Json(nullptr) : Json(thread.name)},
              {"allocations", thread.allocations},
              {"frees", thread.releases},
              {"allocated_bytes", thread.allocated_bytes}};
    });
  const bool is_own = report.capture.import.tool.empty();
  document.member("collector", {{"cpu_ns", known(is_own, report.capture.collector_cpu_ns)},
                                {"peak_rss_bytes", known(is_own, report.capture.collector_peak_rss_bytes)},
                                {"log_bytes_used", known(is_own, report.capture.log_bytes_used)},
                                {"trace_bytes", report.capture.trace_bytes}});
}

void sizes(const Report& report, const Write& write) {
  JsonDocument document("sizes", report, write);
  if (!report.sizes_known) {
    for (const char* name : {"classes", "sizes", "uncounted_allocations"}) document.member(name, nullptr);
    return;
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
}

void lifetimes(const Report& report, const Write& write) {
  JsonDocument document("lifetimes", report, write);
  if (!report.has_events || !report.lifetimes_known)
    document.member("lifetimes", nullptr);
  else
    document.list("lifetimes", report.lifetimes, [](const LifetimeClass& lifetime) -> Json {
      return {{"lowest_ns", lifetime.lowest_ns},
              {"highest_ns", lifetime.highest_ns == 0 ? Json(nullptr) : Json(lifetime.highest_ns)},
              {"blocks", lifetime.blocks},
              {"bytes", lifetime.bytes}};
    });
  document.member("live_blocks",
                  known(report.totals.live_known && report.totals.blocks_known, report.totals.live_blocks));
  document.member("live_bytes", known(report.totals.live_known, report.totals.live_bytes));
}

Json point_json(const TimelinePoint& point, const Report& report) {
  const Totals& totals = report.totals;
  const bool has_times = report.capture.import.has_times();
  Json json{{"time_ns", known(has_times, point.time_ns)},
            {"live_bytes", point.live_bytes},
            {"live_blocks", known(totals.blocks_known, point.live_blocks)},
            {"peak_live_bytes", point.peak_live_bytes},
            {"allocations", known(totals.calls_known, point.allocations)},
            {"frees", known(totals.calls_known, point.releases)},
            {"mapped_bytes", known(totals.calls_known, point.mapped_bytes)}};
  if (!has_times) json["time"] = point.time_ns;
  return json;
}

Json block_json(const BlockEntry& block, const Json& caller) {
  Json json = {{"number", block.number},     {"address", address_json(block.address)},
               {"size", block.size_bytes},   {"allocated_at_ns", block.allocated_at_ns},
               {"thread", block.thread},     {"stack", block.stack_id},
               {"function", block.function}, {"caller", caller}};
  if (!block.name.empty()) json["name"] = block.name;
  return json;
}

void timeline(const Report& report, const Write& write) {
  JsonDocument document("timeline", report, write);
  document.member("start_ns", known(report.capture.import.has_times(), report.timeline_start_ns));
  if (!report.has_events)
    document.member("points", nullptr);
  else
    document.list("points", report.timeline,
                  [&report](const TimelinePoint& point) { return point_json(point, report); });
}

void blocks(const Report& report, const Write& write) {
  JsonDocument document("blocks", report, write);
  document.member("live_blocks",
                  known(report.totals.live_known && report.totals.blocks_known, report.totals.live_blocks));
  document.member("live_bytes", known(report.totals.live_known, report.totals.live_bytes));
  if (!report.has_events || !report.blocks_known)
    document.member("blocks", nullptr);
  else
    document.list("blocks", report.blocks, [](const BlockEntry& block) {
      return block_json(block, block.caller == kNoFrame ? Json(nullptr) : Json(block.caller));
    });
  document.frames(report);
}

}  // namespace

void write_json(const Report& report, View view, const RenderOptions& options, const Write& write) {
  switch (view) {
    case View::kSummary:
      return summary(report, write);
    case View::kLeaks:
      return stack_list("leaks", report, write);
    case View::kTop:
      return stack_list("top", report, write);
    case View::kTree:
      return tree(report, options.bottom_up, write);
    case View::kStats:
      return stats(report, write);
    case View::kSizes:
      return sizes(report, write);
    case View::kLifetimes:
      return lifetimes(report, write);
    case View::kTimeline:
      return timeline(report, write);
    case View::kBlocks:
      return blocks(report, write);
    case View::kHolders:
      return json_holders(report, write);
    case View::kRetained:
      return json_retained(report, write);
    case View::kGlobals:
      return json_globals(report, write);
    case View::kScans:
      return json_scans(report, write);
    case View::kScanChanges:
      return json_scan_changes(report, write);
    case View::kProcesses:
      return processes(report, write);
    case View::kPrograms:
      return programs(report, write);
    case View::kTags:
      return labels("tags", report, write);
    case View::kPools:
      return labels("pools", report, write);
  }
}

std::string render_json(const Report& report, View view, const RenderOptions& options) {
  std::string text;
  write_json(report, view, options, [&text](std::string_view piece) { text += piece; });
  return text;
}

bool has_ndjson(View view) { return view == View::kBlocks || view == View::kTimeline; }

void write_ndjson(const Report& report, View view, const RenderOptions& /*options*/, const Write& write) {
  if (view == View::kTimeline) {
    for (const TimelinePoint& point : report.timeline) write(to_text(point_json(point, report)) + "\n");
  } else if (view == View::kBlocks) {
    for (const BlockEntry& block : report.blocks) {
      const Json caller = block.caller == kNoFrame ? Json(nullptr) : json_of(report.frames[block.caller]);
      write(to_text(block_json(block, caller)) + "\n");
    }
  }
}

}  // namespace heaptap::report
