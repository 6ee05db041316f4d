// JSON views, one function each; the summary's layout is the documented one, the others follow it.
#include "views/json/render_json.h"

#include "analysis/findings/words.h"
#include "analysis/report/call_tree.h"
#include "analysis/report/process_sums.h"
#include "views/json/json_values.h"

namespace heaptap::json {
namespace {

constexpr size_t kMaxTreeFrames = 255;

void add_processes(JsonDocument& document, const report::Report& report) {
  document.list("processes", report.processes);
  write_sum(document.key("all_processes"), report.processes);
}

void write_crash(JsonWriter& json, JsonStacks& stacks, const report::Report& report) {
  const JsonObject object(json);
  json.member("signal", report.capture.exit.signal);
  json.member("thread", known(report.crash->thread != 0, report.crash->thread));
  stacks.write(json, report.crash->frames);
  if (const std::string ending = findings::ending_of(*report.crash); !ending.empty()) json.member("ends_early", ending);
}

void summary(const report::Report& report, Version version, const report::Write& write) {
  JsonStacks stacks(report.frames, version, report.stacks);
  JsonDocument document("summary", report, version, write);
  write_json(document.key("totals"), report.totals);
  write_json(document.key("leaks"), report.leaks);
  if (report.crash) write_crash(document.key("crash"), stacks, report);
  document.list("errors", report.errors,
                [&stacks](JsonWriter& json, const report::ErrorEntry& error) { write_error(json, stacks, error); });
  document.member("errors_listed", report.errors_requested);
  document.member("errors_dropped", report.errors_dropped);
  document.member("stack_count", report.stack_count);
  document.list("stacks", report.stacks,
                [&](JsonWriter& json, const report::StackEntry& stack) { write_stack(json, stacks, stack); });
  if (!report.processes.empty()) add_processes(document, report);
  document.tables(stacks);
}

void processes(const report::Report& report, Version version, const report::Write& write) {
  JsonDocument document("processes", report, version, write);
  add_processes(document, report);
}

void programs(const report::Report& report, Version version, const report::Write& write) {
  JsonDocument document("programs", report, version, write);
  document.list("programs", report::programs_of(report.processes),
                [](JsonWriter& json, const report::ProgramEntry& program) {
                  const JsonObject object(json);
                  json.member("program", program.program);
                  write_sum(json.key("processes"), program.processes);
                });
  write_sum(document.key("all_processes"), report.processes);
}

void stack_list(const char* view, const report::Report& report, Version version, const report::Write& write) {
  const JsonStacks stacks(report.frames, version, report.stacks);
  JsonDocument document(view, report, version, write);
  write_json(document.key("totals"), report.totals);
  write_json(document.key("leaks"), report.leaks);
  document.member("sort", report.sort_key);
  document.member("stack_count", report.stack_count);
  document.list("stacks", report.stacks,
                [&](JsonWriter& json, const report::StackEntry& stack) { write_stack(json, stacks, stack); });
  document.tables(stacks);
}

void labels(const char* view, const report::Report& report, Version version, const report::Write& write) {
  JsonDocument document(view, report, version, write);
  write_json(document.key("totals"), report.totals);
  document.member("sort", report.sort_key);
  document.list(view, report.labels,
                [version](JsonWriter& json, const report::LabelEntry& label) { write_label(json, label, version); });
}

// `frame` is null of the function that was called, which has a name alone.
void write_node(JsonWriter& json, const report::TreeNode& node, const report::Report& report) {
  const bool is_called = node.frame == report::kNoFrame;
  const JsonObject object(json);
  json.member("frame", known(!is_called, node.frame));
  json.member("function", known<std::string_view>(is_called, node.function));
  json.member("weight", node.weight);
  json.member("allocations", known(report.totals.allocations.is_known(), node.allocations));
  json.member("live_blocks", known(report.capture.import.tells(model::kNotRecordedCounts), node.live_blocks));
  json.key("children").begin_array();
  for (const report::TreeNode& child : node.children) write_node(json, child, report);
  json.end_array();
}

void tree(const report::Report& report, const Form& form, const report::Write& write) {
  const report::Weight weight = report::choose_weight(report);
  const auto depth_of = [](const report::FrameList& frames) { return std::min(frames.size(), kMaxTreeFrames); };
  const report::TreeNode root = form.bottom_up ? report::build_bottom_up_tree(report, weight, 0, depth_of)
                                               : report::build_top_down_tree(report, weight, depth_of);
  JsonDocument document("tree", report, form.version, write);
  document.member("weight", report::name_of(weight));
  document.member("bottom_up", form.bottom_up);
  document.member("total", root.weight);
  document.list("children", root.children,
                [&](JsonWriter& json, const report::TreeNode& child) { write_node(json, child, report); });
  document.list("frames", report.frames);
}

void write_thread(JsonWriter& json, const report::ThreadEntry& thread) {
  const JsonObject object(json);
  json.member("number", thread.number);
  json.member("kernel_id", known(thread.kernel_id != 0, thread.kernel_id));
  json.member("name", or_null(thread.name));
  json.member("allocations", thread.allocations);
  json.member("frees", thread.releases);
  json.member("allocated_bytes", thread.allocated_bytes);
}

void write_collector(JsonWriter& json, const model::Capture& capture) {
  const bool is_own = capture.import.tool.empty();
  const JsonObject object(json);
  json.member("cpu_ns", known(is_own, capture.collector_cpu_ns));
  json.member("peak_rss_bytes", known(is_own, capture.collector_peak_rss_bytes));
  json.member("log_bytes_used", known(is_own, capture.log_bytes_used));
  json.member("trace_bytes", capture.trace_bytes);
}

void stats(const report::Report& report, Version version, const report::Write& write) {
  JsonDocument document("stats", report, version, write);
  write_json(document.key("totals"), report.totals);
  document.member("stack_count", report.stack_count);
  if (!report.threads)
    document.member("threads", nullptr);
  else
    document.list("threads", *report.threads, write_thread);
  write_collector(document.key("collector"), report.capture);
}

void sizes(const report::Report& report, Version version, const report::Write& write) {
  JsonDocument document("sizes", report, version, write);
  if (!report.sizes) {
    for (const char* name : {"classes", "sizes", "uncounted_allocations"}) document.member(name, nullptr);
    return;
  }
  const bool counts = report.has_events;
  document.list("classes", report.sizes->classes, [counts](JsonWriter& json, const report::SizeClass& size) {
    const JsonObject object(json);
    json.member("lowest", size.lowest);
    json.member("highest", size.highest);
    json.member("allocations", known(counts, size.allocations));
    json.member("allocated_bytes", known(counts, size.allocated_bytes));
    json.member("live_blocks", size.live_blocks);
    json.member("live_bytes", size.live_bytes);
  });
  document.list("sizes", report.sizes->top, [counts](JsonWriter& json, const report::ExactSize& size) {
    const JsonObject object(json);
    json.member("size", size.size_bytes);
    json.member("allocations", known(counts, size.allocations));
    json.member("live_blocks", size.live_blocks);
  });
  document.member("uncounted_allocations", known(counts, report.sizes->uncounted_allocations));
}

void lifetimes(const report::Report& report, Version version, const report::Write& write) {
  JsonDocument document("lifetimes", report, version, write);
  if (!report.has_events || !report.lifetimes)
    document.member("lifetimes", nullptr);
  else
    document.list("lifetimes", *report.lifetimes, [](JsonWriter& json, const report::LifetimeClass& lifetime) {
      const JsonObject object(json);
      json.member("lowest_ns", lifetime.lowest_ns);
      json.member("highest_ns", known(lifetime.highest_ns != 0, lifetime.highest_ns));
      json.member("blocks", lifetime.blocks);
      json.member("bytes", lifetime.bytes);
    });
  document.member("live_blocks", report.totals.live_blocks.if_known());
  document.member("live_bytes", report.totals.live_bytes.if_known());
}

void write_point(JsonWriter& json, const report::TimelinePoint& point, const report::Report& report) {
  const bool has_times = report.capture.import.has_times();
  const JsonObject object(json);
  json.member("time_ns", known(has_times, point.time_ns));
  json.member("live_bytes", point.live_bytes);
  json.member("live_blocks", point.live_blocks.if_known());
  json.member("peak_live_bytes", point.peak_live_bytes);
  json.member("allocations", point.allocations.if_known());
  json.member("frees", point.releases.if_known());
  json.member("mapped_bytes", point.mapped_bytes.if_known());
  json.member("mapped_memory_bytes", point.mapped_memory_bytes.if_known());
  json.member("resident_bytes", point.resident_bytes.if_known());
  if (!has_times) json.member("time", point.time_ns);
}

// `write_caller` writes the caller, as an index or in full.
template <typename WriteCaller>
void write_block(JsonWriter& json, const report::BlockEntry& block, WriteCaller write_caller) {
  const JsonObject object(json);
  json.member("number", block.number);
  json.member("address", address_or_null(block.address));
  json.member("size", block.size_bytes);
  json.member("allocated_at_ns", block.allocated_at_ns);
  json.member("thread", block.thread);
  json.member("stack", block.stack_id);
  json.member("function", block.function);
  json.key("caller");
  if (block.caller == report::kNoFrame)
    json.value(nullptr);
  else
    write_caller(json, block.caller);
  if (!block.name.empty()) json.member("name", block.name);
}

void timeline(const report::Report& report, Version version, const report::Write& write) {
  JsonDocument document("timeline", report, version, write);
  document.member("start_ns", known(report.capture.import.has_times(), report.timeline_start_ns));
  if (!report.has_events)
    document.member("points", nullptr);
  else
    document.list("points", report.timeline, [&report](JsonWriter& json, const report::TimelinePoint& point) {
      write_point(json, point, report);
    });
}

void blocks(const report::Report& report, Version version, const report::Write& write) {
  JsonDocument document("blocks", report, version, write);
  document.member("live_blocks", report.totals.live_blocks.if_known());
  document.member("live_bytes", report.totals.live_bytes.if_known());
  if (!report.has_events || !report.blocks)
    document.member("blocks", nullptr);
  else
    document.list("blocks", *report.blocks, [](JsonWriter& json, const report::BlockEntry& block) {
      write_block(json, block, [](JsonWriter& caller, report::FrameIndex frame) { caller.value(frame); });
    });
  document.list("frames", report.frames);
}

}  // namespace

void write_json(const report::Report& report, report::View view, const Form& form, const report::Write& write) {
  switch (view) {
    case report::View::kSummary:
      return summary(report, form.version, write);
    case report::View::kLeaks:
      return stack_list("leaks", report, form.version, write);
    case report::View::kTop:
      return stack_list("top", report, form.version, write);
    case report::View::kTree:
      return tree(report, form, write);
    case report::View::kStats:
      return stats(report, form.version, write);
    case report::View::kSizes:
      return sizes(report, form.version, write);
    case report::View::kLifetimes:
      return lifetimes(report, form.version, write);
    case report::View::kTimeline:
      return timeline(report, form.version, write);
    case report::View::kBlocks:
      return blocks(report, form.version, write);
    case report::View::kHolders:
      return json_holders(report, form.version, write);
    case report::View::kRetained:
      return json_retained(report, form.version, write);
    case report::View::kGlobals:
      return json_globals(report, form.version, write);
    case report::View::kScans:
      return json_scans(report, form.version, write);
    case report::View::kScanChanges:
      return json_scan_changes(report, form.version, write);
    case report::View::kFragmentation:
      return json_fragmentation(report, form.version, write);
    case report::View::kProcesses:
      return processes(report, form.version, write);
    case report::View::kPrograms:
      return programs(report, form.version, write);
    case report::View::kTags:
      return labels("tags", report, form.version, write);
    case report::View::kPools:
      return labels("pools", report, form.version, write);
  }
}

std::string render_json(const report::Report& report, report::View view, const Form& form) {
  std::string text;
  write_json(report, view, form, [&text](std::string_view piece) { text += piece; });
  return text;
}

bool has_ndjson(report::View view) { return view == report::View::kBlocks || view == report::View::kTimeline; }

namespace {

template <typename Entries, typename WriteEntry>
void write_lines(const Entries& entries, const report::Write& write, WriteEntry write_entry) {
  std::string line;
  for (const auto& entry : entries) {
    JsonWriter json(line);
    write_entry(json, entry);
    line += '\n';
    write(line);
    line.clear();
  }
}

}  // namespace

void write_ndjson(const report::Report& report, report::View view, const report::Write& write) {
  if (view == report::View::kTimeline) {
    write_lines(report.timeline, write,
                [&](JsonWriter& json, const report::TimelinePoint& point) { write_point(json, point, report); });
  } else if (view == report::View::kBlocks) {
    const auto write_caller = [&](JsonWriter& json, report::FrameIndex frame) {
      write_json(json, report.frames[frame]);
    };
    write_lines(report::or_none(report.blocks), write,
                [&](JsonWriter& json, const report::BlockEntry& block) { write_block(json, block, write_caller); });
  }
}

}  // namespace heaptap::json
