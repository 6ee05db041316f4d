#include "html/document.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <optional>
#include <span>

#include "html/columns.h"
#include "html/difference.h"
#include "html/folding.h"
#include "html/process_rows.h"
#include "html/strings.h"
#include "report/findings.h"
#include "report/json_values.h"
#include "report/label_sums.h"
#include "report/stack_sums.h"
#include "report/telling_frame.h"
#include "report/text_blocks.h"
#include "report/text_parts.h"
#include "report/text_safe.h"
#include "report/words.h"

namespace heaptap::html {
namespace {

using report::BlockCount;
using report::Report;
using report::StackEntry;

std::optional<uint64_t> known(bool is_known, uint64_t value) { return is_known ? std::optional(value) : std::nullopt; }

std::string hex_text(uint64_t value) { return fmt::format("\"{:#x}\"", value); }

class Document {
 public:
  Document(const Report& report, const DocumentOptions& options, const report::Write& write)
      : report_(report),
        options_(options),
        write_(write),
        rows_(choose_rows(report, options.max_stacks, options.weights)),
        processes_(choose_processes(report, options.max_processes)),
        strings_(options.max_name_bytes) {}

  void make() {
    ObjectWriter document(text_);
    document.json("format", "\"heaptap-report\"");
    document.number("version", 1);
    document.json("title", json_text(options_.title));
    document.json("summary", summary());
    document.json("of_run", report_.of_run ? "true" : "false");
    verdict(document);
    frames(document);
    nodes(document);
    stacks(document);
    threads(document);
    size_classes(document);
    activity(document);
    timeline(document);
    marks(document);
    sizes(document);
    lifetimes(document);
    errors(document);
    holders(document);
    globals(document);
    retained(document);
    graph(document);
    address_space(document);
    processes(document);
    sources(document);
    difference(document);
    suppressions(document);
    folded(document);
    document.json("strings", strings_.json());
  }

  void finish() { write_(text_); }

 private:
  // Hands on what is there.
  void flush() {
    write_(text_);
    text_.clear();
  }

  std::string summary() const {
    report::Json value;
    value["target"] = report::target_json(report_.capture);
    value["capture"] = report::capture_json(report_);
    value["notes"] = report::notes_json(report_);
    if (const std::string ignored = report::ignored_text(report_); !ignored.empty())
      value["notes"].push_back({{"kind", "ignored"}, {"text", ignored}});
    value["filter"] = report_.filter.empty() ? report::Json(nullptr) : report::Json(report_.filter);
    value["totals"] = report::json_of(report_.totals);
    value["leaks"] = report::json_of(report_.leaks);
    if (!report_.ignored.rules.empty()) value["ignored"] = report::json_of(report_.ignored, report_.totals);
    return report::to_text(value);
  }

  // Entries that are objects of their own.
  template <typename Entries, typename Write>
  void list(ObjectWriter& document, const char* name, const Entries& entries, Write write) {
    document.member(name) += '[';
    bool is_first = true;
    for (const auto& entry : entries) {
      if (!is_first) text_ += ',';
      is_first = false;
      ObjectWriter object(text_);
      write(object, entry);
    }
    text_ += ']';
  }

  void verdict(ObjectWriter& document) {
    const auto findings =
        options_.comparison != nullptr ? report::findings_of(*options_.comparison) : report::findings_of(report_);
    list(document, "verdict", findings, [&](ObjectWriter& object, const report::Finding& finding) {
      object.json("severity", json_text(name_of(finding.severity)));
      object.json("kind", json_text(name_of(finding.kind)));
      object.json("text", json_text(finding.text));
      object.json("stack", finding.stack ? fmt::format("{}", rows_.of_stack[*finding.stack]) : "null");
    });
  }

  // Those that nothing in the file names are empty: so all keep their places.
  std::vector<model::Frame> named_frames() const {
    std::vector<bool> is_named(report_.frames.size());
    const auto name = [&](const std::vector<report::FrameIndex>& frames) {
      for (const report::FrameIndex frame : frames) is_named[frame] = true;
    };
    name(rows_.nodes.frames);
    for (const report::ErrorEntry& error : report_.errors) {
      name(error.frames);
      if (error.allocated) name(error.allocated->frames);
      if (error.released) name(error.released->frames);
    }
    if (options_.comparison != nullptr) {
      for (const report::ComparedStack& stack : options_.comparison->stacks) name(stack.frames_before);
    }
    std::vector<model::Frame> frames(report_.frames.size());
    for (size_t i = 0; i < frames.size(); ++i) {
      if (is_named[i]) frames[i] = report_.frames[i];
    }
    return frames;
  }

  void frames(ObjectWriter& document) {
    const std::vector<model::Frame> all = named_frames();
    document.member("frames");
    ObjectWriter table(text_);
    table.column("function", all, [&](const model::Frame& frame) { return strings_.number_of(frame.function); });
    table.column("module", all, [&](const model::Frame& frame) { return strings_.number_of(frame.module); });
    table.column("offset", all,
                 [](const model::Frame& frame) { return frame.module.empty() ? frame.address : frame.offset; });
    table.column("file", all, [&](const model::Frame& frame) { return strings_.number_of(frame.file); });
    table.column("line", all, [](const model::Frame& frame) { return frame.line; });
    table.column("inlined", all, [](const model::Frame& frame) { return frame.inlined ? 1U : 0U; });
    table.column("kind", all, [](const model::Frame& frame) { return report::frame_kind(frame); });
  }

  void nodes(ObjectWriter& document) {
    document.member("nodes");
    ObjectWriter table(text_);
    table.column("parent", rows_.nodes.parents, place_or_none);
    table.column("frame", rows_.nodes.frames, [](report::FrameIndex frame) { return frame; });
  }

  static int64_t place_or_none(uint32_t place) { return place == CallNodes::kNone ? -1 : int64_t{place}; }

  // Of each row: of a stack, or of several that are folded. Without frames and threads.
  std::vector<StackEntry> row_figures() const {
    std::vector<StackEntry> figures(rows_.rows.size());
    for (size_t i = 0; i < report_.stacks.size(); ++i)
      report::add_figures(figures[rows_.of_stack[i]], report_.stacks[i]);
    for (size_t i = 0; i < figures.size(); ++i) {
      const StackEntry& first = report_.stacks[rows_.rows[i].stack];
      figures[i].id = first.id;
      figures[i].function = first.function;
      figures[i].mapping = first.mapping;
      if (rows_.rows[i].folded == 0) figures[i].variant = first.variant;
    }
    return figures;
  }

  void stacks(ObjectWriter& document) {
    const std::vector<StackEntry> figures = row_figures();
    document.member("stacks");
    ObjectWriter table(text_);
    table.column("node", rows_.rows, [](const Row& row) { return place_or_none(row.node); });
    table.column("folded", rows_.rows, [](const Row& row) { return row.folded; });
    table.column("telling", rows_.rows, [&](const Row& row) {
      const std::vector<report::FrameIndex>& indices = report_.stacks[row.stack].frames;
      const model::Frame* const telling =
          row.folded != 0 ? nullptr : report::telling_frame(report_.list(indices), report_.skipped);
      return telling == nullptr ? int64_t{-1} : telling - report_.frames.data();
    });
    table.column("label", rows_.rows, [&](const Row& row) {
      return strings_.number_of(row.folded != 0 ? "" : report::labels_of(report_.stacks[row.stack]));
    });
    const auto column = [&](const char* name, auto value) { table.column(name, figures, value); };
    column("id", [](const StackEntry& stack) { return stack.id; });
    column("function", [&](const StackEntry& stack) { return strings_.number_of(stack.function); });
    column("variant", [&](const StackEntry& stack) { return strings_.number_of(stack.variant); });
    column("mapping", [](const StackEntry& stack) { return stack.mapping ? 1U : 0U; });
    column("allocations", [](const StackEntry& stack) { return known(stack.calls_known, stack.allocations); });
    column("frees",
           [](const StackEntry& stack) { return known(stack.calls_known && stack.live_known, stack.releases); });
    column("allocated_bytes", [](const StackEntry& stack) { return known(stack.calls_known, stack.allocated_bytes); });
    column("live_blocks",
           [](const StackEntry& stack) { return known(stack.live_known && stack.blocks_known, stack.live_blocks); });
    column("live_bytes", [](const StackEntry& stack) { return known(stack.live_known, stack.live_bytes); });
    column("peak_bytes", [](const StackEntry& stack) { return known(stack.times_known, stack.peak_bytes); });
    column("temporary_allocations",
           [](const StackEntry& stack) { return known(stack.temporary_known, stack.temporary_allocations); });
    column("lifetime_ns",
           [](const StackEntry& stack) { return known(stack.times_known && stack.lifetime_known, stack.lifetime_ns); });
    const auto leaks = [&](const char* blocks, const char* bytes, BlockCount report::StackLeaks::* which) {
      column(blocks, [&](const StackEntry& stack) {
        return stack.leaks ? std::optional(((*stack.leaks).*which).blocks) : std::nullopt;
      });
      column(bytes, [&](const StackEntry& stack) {
        return stack.leaks ? std::optional(((*stack.leaks).*which).bytes) : std::nullopt;
      });
    };
    leaks("definite_blocks", "definite_bytes", &report::StackLeaks::definite);
    leaks("indirect_blocks", "indirect_bytes", &report::StackLeaks::indirect);
    leaks("possible_blocks", "possible_bytes", &report::StackLeaks::possible);
    leaks("reachable_blocks", "reachable_bytes", &report::StackLeaks::reachable);
    leaks("suppressed_blocks", "suppressed_bytes", &report::StackLeaks::suppressed);
    leaks("below_blocks", "below_bytes", &report::StackLeaks::below);
  }

  void threads(ObjectWriter& document) {
    const std::vector<report::ThreadEntry>& all = report_.threads;
    document.member("threads");
    ObjectWriter table(text_);
    table.column("number", all, [](const report::ThreadEntry& thread) { return thread.number; });
    table.column("kernel_id", all,
                 [](const report::ThreadEntry& thread) { return known(thread.kernel_id != 0, thread.kernel_id); });
    table.column("name", all, [&](const report::ThreadEntry& thread) { return strings_.number_of(thread.name); });
    if (report_.of_run) {
      table.column("process", all,
                   [&](const report::ThreadEntry& thread) { return processes_.of_process[thread.process]; });
    }
    table.column("allocations", all, [](const report::ThreadEntry& thread) { return thread.allocations; });
    table.column("frees", all, [](const report::ThreadEntry& thread) { return thread.releases; });
    table.column("allocated_bytes", all, [](const report::ThreadEntry& thread) { return thread.allocated_bytes; });
  }

  // Class 0 has blocks of 0 bytes, class n those of 2^(n-1) to 2^n - 1; of as many as JSON's numbers can tell exactly.
  void size_classes(ObjectWriter& document) {
    constexpr uint64_t kClasses = 53;
    std::vector<uint64_t> classes;
    for (uint64_t i = 0; i < kClasses; ++i) classes.push_back(i);
    const auto lowest = [](uint64_t i) { return i == 0 ? 0 : uint64_t{1} << (i - 1); };
    document.member("size_classes");
    ObjectWriter table(text_);
    table.column("lowest", classes, lowest);
    table.column("highest", classes, [&](uint64_t i) { return i == 0 ? 0 : 2 * lowest(i) - 1; });
  }

  void activity(ObjectWriter& document) {
    report::Activity activity;
    if (report_.activity && options_.with_cells) activity = by_row(*report_.activity);
    document.member("bins");
    {
      ObjectWriter bins(text_);
      bins.number("start_ns", activity.start_ns);
      bins.number("width_ns", activity.width_ns);
      bins.number("count", activity.bin_count);
    }
    cells(document, activity.cells);
    flush();
    document.member("left");
    ObjectWriter table(text_);
    keys(table, activity.left);
    table.column("state", activity.left,
                 [](const report::LeftCell& cell) { return static_cast<uint32_t>(cell.state); });
    const bool has_blocks = report_.totals.blocks_known;
    table.column("blocks", activity.left, [&](const report::LeftCell& cell) { return known(has_blocks, cell.blocks); });
    table.column("bytes", activity.left, [](const report::LeftCell& cell) { return cell.bytes; });
  }

  // With rows in place of stacks: cells of folded stacks are added up.
  [[nodiscard]] report::Activity by_row(report::Activity activity) const {
    const auto move = [&](auto& cell) {
      cell.stack = rows_.of_stack[cell.stack];
      if (report_.of_run) cell.process = processes_.of_process[cell.process];
    };
    std::ranges::for_each(activity.cells, move);
    std::ranges::for_each(activity.left, move);
    if (rows_.folded_stacks != 0 || processes_.folded != 0) {
      report::unite(activity.cells);
      report::unite(activity.left);
    }
    return activity;
  }

  template <typename Cells>
  void keys(ObjectWriter& table, const Cells& cells) {
    table.column("stack", cells, [&](const auto& cell) { return cell.stack; });
    const bool has_threads = report_.threads_known;
    const bool has_sizes = report_.totals.blocks_known;
    table.column("thread", cells, [&](const auto& cell) { return has_threads ? int64_t{cell.thread} : int64_t{-1}; });
    table.column("size", cells, [&](const auto& cell) {
      return has_sizes ? int64_t{std::min<uint8_t>(cell.size_class, 52)} : int64_t{-1};
    });
    if (report_.of_run) table.column("process", cells, [](const auto& cell) { return cell.process; });
    table.column("bin", cells, [](const auto& cell) { return cell.bin; });
  }

  void cells(ObjectWriter& document, const std::vector<report::ActivityCell>& cells) {
    using Cell = report::ActivityCell;
    document.member("cells");
    ObjectWriter table(text_);
    keys(table, cells);
    const bool calls = report_.totals.calls_known;
    table.column("allocations", cells, [&](const Cell& cell) { return known(calls, cell.allocations); });
    table.column("allocated_bytes", cells, [](const Cell& cell) { return cell.allocated_bytes; });
    table.column("frees", cells, [&](const Cell& cell) { return known(calls, cell.releases); });
    table.column("freed_bytes", cells, [](const Cell& cell) { return cell.released_bytes; });
    table.column("temporary", cells, [&](const Cell& cell) { return known(calls, cell.temporary); });
  }

  // Those of this program, on its clock; the last ones, where there are very many.
  void marks(ObjectWriter& document) {
    constexpr size_t kMaxMarks = 1000;
    std::vector<const model::Mark*> shown;
    if (!report_.of_run && report_.capture.import.has_times()) {
      for (const model::Mark& mark : report_.marks) {
        if (mark.kind != model::MarkKind::kEarlier) shown.push_back(&mark);
      }
    }
    const size_t more = shown.size() > kMaxMarks ? shown.size() - kMaxMarks : 0;
    shown.erase(shown.begin(), shown.begin() + static_cast<std::ptrdiff_t>(more));
    list(document, "marks", shown, [](ObjectWriter& object, const model::Mark* mark) {
      object.json("name", json_text(report::mark_text(*mark)));
      object.number("time_ns", mark->time_ns);
    });
    document.number("more_marks", more);
  }

  void timeline(ObjectWriter& document) {
    const std::vector<report::TimelinePoint>& points = report_.timeline;
    if (!report_.has_events || points.empty() || !report_.capture.import.has_times())
      return document.json("timeline", "null");
    document.member("timeline");
    ObjectWriter table(text_);
    table.number("start_ns", report_.timeline_start_ns);
    table.number("width_ns", points.front().time_ns - report_.timeline_start_ns);
    using Point = report::TimelinePoint;
    table.column("live_bytes", points, [](const Point& point) { return point.live_bytes; });
    const report::Totals& totals = report_.totals;
    table.column("live_blocks", points,
                 [&](const Point& point) { return known(totals.blocks_known, point.live_blocks); });
    table.column("peak_live_bytes", points, [](const Point& point) { return point.peak_live_bytes; });
    const bool calls = totals.calls_known;
    table.column("allocations", points, [&](const Point& point) { return known(calls, point.allocations); });
    table.column("frees", points, [&](const Point& point) { return known(calls, point.releases); });
    table.column("mapped_bytes", points, [&](const Point& point) { return known(calls, point.mapped_bytes); });
  }

  void sizes(ObjectWriter& document) {
    if (!report_.sizes_known || !report_.has_events) return document.json("sizes", "null");
    constexpr size_t kMaxSizes = 4096;
    const std::span sizes(report_.top_sizes.data(), std::min(kMaxSizes, report_.top_sizes.size()));
    document.member("sizes");
    ObjectWriter table(text_);
    table.column("size", sizes, [](const report::ExactSize& size) { return size.size_bytes; });
    table.column("allocations", sizes, [](const report::ExactSize& size) { return size.allocations; });
    table.column("live_blocks", sizes, [](const report::ExactSize& size) { return size.live_blocks; });
  }

  void lifetimes(ObjectWriter& document) {
    if (!report_.has_events || report_.of_run || !report_.lifetimes_known) return document.json("lifetimes", "null");
    using Class = report::LifetimeClass;
    document.member("lifetimes");
    ObjectWriter table(text_);
    table.column("lowest_ns", report_.lifetimes, [](const Class& each) { return each.lowest_ns; });
    table.column("highest_ns", report_.lifetimes,
                 [](const Class& each) { return known(each.highest_ns != 0, each.highest_ns); });
    table.column("blocks", report_.lifetimes, [](const Class& each) { return each.blocks; });
    table.column("bytes", report_.lifetimes, [](const Class& each) { return each.bytes; });
  }

  static void frame_indices(ObjectWriter& object, const std::vector<report::FrameIndex>& frames) {
    object.column("frames", frames, [](report::FrameIndex frame) { return frame; });
  }

  void origin(ObjectWriter& object, const char* name, const std::optional<report::ErrorEntry::Origin>& origin) {
    if (!origin) return object.json(name, "null");
    object.member(name);
    ObjectWriter value(text_);
    value.json("function", json_text(origin->function));
    value.number("size", origin->size_bytes);
    frame_indices(value, origin->frames);
  }

  void errors(ObjectWriter& document) {
    list(document, "errors", report_.errors, [&](ObjectWriter& object, const report::ErrorEntry& error) {
      object.json("kind", json_text(error.kind));
      object.json("function", json_text(error.function));
      object.json("address", error.address == 0 ? "null" : hex_text(error.address));
      object.number("count", error.count);
      frame_indices(object, error.frames);
      origin(object, "allocated", error.allocated);
      origin(object, "released", error.released);
    });
  }

  void holders(ObjectWriter& document) {
    list(document, "holders", report_.stack_holders, [&](ObjectWriter& object, const report::StackHolders& entry) {
      object.number("stack", rows_.of_stack[entry.stack]);
      object.column("text", report::holder_lines(report_, entry.holders),
                    [](const std::string& line) { return json_text(line); });
      object.number("blocks", entry.holders.of_stack.blocks);
      object.number("bytes", entry.holders.of_stack.bytes);
    });
  }

  void globals(ObjectWriter& document) {
    const std::vector<report::GlobalEntry> none;
    list(document, "globals", report_.globals ? report_.globals->entries : none,
         [&](ObjectWriter& object, const report::GlobalEntry& entry) {
           object.json("name", json_text(report::root_text(report_, entry.variable)));
           object.json("file", json_text(entry.variable.file));
           object.number("line", entry.variable.line);
           object.number("direct_bytes", entry.direct.bytes);
           object.number("direct_blocks", entry.direct.blocks);
           object.number("retained_bytes", entry.retained.bytes);
           object.number("retained_blocks", entry.retained.blocks);
         });
  }

  void retained(ObjectWriter& document) {
    std::vector<report::RetainedEntry> entries;
    if (report_.retained) entries = report_.retained->entries;
    std::erase_if(entries, [&](const report::RetainedEntry& entry) { return !row_of_id(entry.stack_id); });
    list(document, "retained", entries, [&](ObjectWriter& object, const report::RetainedEntry& entry) {
      object.number("stack", *row_of_id(entry.stack_id));
      object.number("own_blocks", entry.own.blocks);
      object.number("own_bytes", entry.own.bytes);
      object.number("retained_blocks", entry.retained.blocks);
      object.number("retained_bytes", entry.retained.bytes);
    });
  }

  std::optional<uint32_t> row_of_id(uint64_t id) {
    if (rows_by_id_.empty()) {
      for (size_t i = 0; i < report_.stacks.size(); ++i) rows_by_id_.emplace(report_.stacks[i].id, rows_.of_stack[i]);
    }
    const auto found = rows_by_id_.find(id);
    return found == rows_by_id_.end() ? std::nullopt : std::optional(found->second);
  }

  void graph(ObjectWriter& document) {
    if (!report_.stack_graph) return document.json("graph", "null");
    using Node = report::StackGraph::Node;
    using Edge = report::StackGraph::Edge;
    const report::StackGraph& graph = *report_.stack_graph;
    document.member("graph");
    ObjectWriter value(text_);
    value.member("nodes");
    {
      ObjectWriter table(text_);
      table.column("label", graph.nodes, [&](const Node& node) {
        return strings_.number_of(node.root ? report::root_text(report_, *node.root) : stack_label(node.stack));
      });
      table.column("kind", graph.nodes, [](const Node& node) { return node.root ? "\"root\"" : "\"stack\""; });
      table.column("stack", graph.nodes,
                   [&](const Node& node) { return node.root ? int64_t{-1} : int64_t{rows_.of_stack[node.stack]}; });
      table.column("blocks", graph.nodes, [](const Node& node) { return node.blocks.blocks; });
      table.column("bytes", graph.nodes, [](const Node& node) { return node.blocks.bytes; });
      table.column("retained_bytes", graph.nodes, [&](const Node& node) { return retained_bytes(node); });
    }
    value.member("edges");
    ObjectWriter table(text_);
    table.column("from", graph.edges, [](const Edge& edge) { return edge.from; });
    table.column("to", graph.edges, [](const Edge& edge) { return edge.to; });
    table.column("count", graph.edges, [](const Edge& edge) { return edge.count; });
  }

  std::optional<uint64_t> retained_bytes(const report::StackGraph::Node& node) const {
    if (node.root || !report_.retained) return {};
    const auto& entries = report_.retained->entries;
    const auto found = std::ranges::find(entries, report_.stacks[node.stack].id, &report::RetainedEntry::stack_id);
    return found == entries.end() ? std::nullopt : std::optional(found->retained.bytes);
  }

  std::string stack_label(uint32_t stack) const {
    const model::Frame* const frame =
        report::telling_frame(report_.list(report_.stacks[stack].frames), report_.skipped);
    if (frame == nullptr) return report_.stacks[stack].function;
    return fmt::format("{} {}", report::function_of(*frame, 48), report::location_of(*frame));
  }

  void address_space(ObjectWriter& document) {
    if (!report_.address_space || report_.address_space->pages.empty()) return document.json("address_space", "null");
    const std::vector<report::PageUse>& pages = report_.address_space->pages;
    document.member("address_space");
    ObjectWriter value(text_);
    value.number("page_bytes", report_.address_space->page_bytes);
    {
      value.member("pages");
      ObjectWriter table(text_);
      table.column("address", pages, [](const report::PageUse& page) { return hex_text(page.address); });
      table.column("live_bytes", pages, [](const report::PageUse& page) { return page.live_bytes; });
      table.column("blocks", pages, [](const report::PageUse& page) { return page.blocks; });
      table.column("stack", pages, [&](const report::PageUse& page) { return rows_.of_stack[page.stack]; });
    }
    value.number("max_gap_bytes", report_.address_space->max_gap_bytes);
    const std::vector<report::BlockSpan>& spans = report_.address_space->spans;
    value.member("spans");
    ObjectWriter table(text_);
    table.column("start", spans, [](const report::BlockSpan& span) { return hex_text(span.address); });
    table.column("length", spans, [](const report::BlockSpan& span) { return span.length; });
    table.column("live_bytes", spans, [](const report::BlockSpan& span) { return span.live_bytes; });
    table.column("blocks", spans, [](const report::BlockSpan& span) { return span.blocks; });
    table.column("touched_bytes", spans, [](const report::BlockSpan& span) { return span.touched_bytes; });
  }

  void processes(ObjectWriter& document) {
    list(document, "processes", processes_.rows, [&](ObjectWriter& object, const ProcessRow& row) {
      if (row.folded != 0)
        others(object, row.folded);
      else
        process(object, report_.processes[row.process]);
    });
  }

  static void process(ObjectWriter& object, const report::ProcessEntry& process) {
    constexpr size_t kMaxName = 200;
    const bool is_read = process.failure.empty();
    const bool scanned = is_read && process.leaks.scanned;
    const auto number = [&](const char* name, bool is_known, uint64_t value) {
      object.json(name, is_known ? fmt::format("{}", value) : "null");
    };
    object.json("program", json_text(report::short_name(report::program_of(process.capture), kMaxName)));
    object.number("pid", process.capture.pid);
    number("parent_pid", process.capture.parent_pid != 0, process.capture.parent_pid);
    object.json("exit", json_text(is_read ? report::exit_text(process.capture) : process.failure));
    number("duration_ns", is_read && process.capture.ended, process.capture.duration_ns);
    number("allocations", is_read && process.totals.calls_known, process.totals.allocations);
    number("peak_live_bytes", is_read && process.totals.peak_known, process.totals.peak_live_bytes);
    number("live_bytes", is_read && process.totals.live_known, process.totals.live_bytes);
    number("definite_bytes", scanned, process.leaks.definite.bytes);
    number("definite_blocks", scanned, process.leaks.definite.blocks);
    number("indirect_bytes", scanned, process.leaks.indirect.bytes);
    number("indirect_blocks", scanned, process.leaks.indirect.blocks);
    if (process.live_bytes.empty())
      object.json("course", "null");
    else
      object.column("course", process.live_bytes, [](uint64_t bytes) { return bytes; });
    object.json("trace", json_text(process.trace_path));
    object.number("folded", 0);
  }

  // A row that stands for the processes that have none.
  static void others(ObjectWriter& object, uint64_t count) {
    object.json("program", json_text(fmt::format("{} smaller processes", count)));
    for (const char* name : {"pid", "parent_pid", "exit", "duration_ns", "allocations", "peak_live_bytes", "live_bytes",
                             "definite_bytes", "definite_blocks", "indirect_bytes", "indirect_blocks", "course"})
      object.json(name, "null");
    object.json("trace", "\"\"");
    object.number("folded", count);
  }

  void sources(ObjectWriter& document) {
    document.member("sources");
    ObjectWriter files(text_);
    if (options_.sources == nullptr) return;
    for (const auto& [path, lines] : *options_.sources) {
      const std::string name = json_text(path);
      files.column_named(name, lines, [](const std::string& line) { return json_text(line); });
    }
  }

  void difference(ObjectWriter& document) {
    if (options_.comparison == nullptr) return document.json("difference", "null");
    write_difference(*options_.comparison, rows_, document.member("difference"));
  }

  void suppressions(ObjectWriter& document) {
    document.member("suppressions");
    ObjectWriter table(text_);
    if (!options_.with_suppressions) return;
    std::vector<bool> done(rows_.rows.size());
    for (const auto& [stack, text] : report_.stack_suppressions) {
      const uint32_t row = rows_.of_stack[stack];
      if (rows_.rows[row].folded != 0 || done[row]) continue;
      done[row] = true;
      table.json(fmt::format("{}", row).c_str(), json_text(text));
    }
  }

  void folded(ObjectWriter& document) {
    const bool without_cells = report_.activity && !options_.with_cells;
    const bool without_suppressions = !report_.stack_suppressions.empty() && !options_.with_suppressions;
    const bool is_whole = rows_.folded_stacks == 0 && processes_.folded == 0 && strings_.cut() == 0;
    if (is_whole && !without_cells && !without_suppressions) return document.json("folded", "null");
    document.member("folded");
    ObjectWriter value(text_);
    value.number("stacks", rows_.folded_stacks);
    value.number("bytes", rows_.folded_bytes);
    value.number("processes", processes_.folded);
    value.number("names", strings_.cut());
    value.json("cells", without_cells ? "true" : "false");
    value.json("suppressions", without_suppressions ? "true" : "false");
  }

  const Report& report_;
  const DocumentOptions& options_;
  const report::Write& write_;
  Rows rows_;
  ProcessRows processes_;
  Strings strings_;
  boost::unordered_flat_map<uint64_t, uint32_t> rows_by_id_;
  std::string text_;
};

}  // namespace

void write_document(const Report& report, const DocumentOptions& options, const report::Write& write) {
  Document document(report, options, write);
  document.make();
  document.finish();
}

}  // namespace heaptap::html
