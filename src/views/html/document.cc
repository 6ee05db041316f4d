#include "views/html/document.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <optional>
#include <span>

#include "analysis/findings/block_text.h"
#include "analysis/findings/capture_text.h"
#include "analysis/findings/function_name.h"
#include "analysis/findings/ignored_text.h"
#include "analysis/findings/label_text.h"
#include "analysis/findings/resident_text.h"
#include "analysis/findings/telling_frame.h"
#include "analysis/findings/telling_frames.h"
#include "analysis/findings/text_safe.h"
#include "analysis/findings/words.h"
#include "analysis/report/chosen_memory.h"
#include "analysis/report/focus.h"
#include "analysis/report/process_sums.h"
#include "analysis/report/stack_sums.h"
#include "views/html/columns.h"
#include "views/html/difference.h"
#include "views/html/folding.h"
#include "views/html/process_rows.h"
#include "views/html/strings.h"
#include "views/json/json_values.h"

namespace heaptap::html {
namespace {

using json::JsonHex;
using json::JsonObject;
using json::known;
using report::BlockCount;
using report::Report;
using report::StackEntry;

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
    const JsonObject document(json_);
    json_.member("format", "heaptap-report");
    json_.member("version", 1);
    json_.member("title", options_.title);
    summary();
    json_.member("of_run", report_.of_run);
    json_.member("focus", name_of(report::focus_of(report_)));
    json_.member("memory", report::first_memory(report_) == report::Memory::kBoth ? "both" : "malloc");
    verdict();
    frames();
    nodes();
    stacks();
    threads();
    size_classes();
    activity();
    timeline();
    marks();
    sizes();
    lifetimes();
    errors();
    holders();
    globals();
    retained();
    graph();
    address_space();
    fragmentation();
    processes();
    peak_process();
    sources();
    difference();
    suppressions();
    folded();
    json_.key("strings").begin_array();
    for (const std::string* const each : strings_.list()) json_.value(*each);
    json_.end_array();
  }

  void finish() { write_(text_); }

 private:
  // Passes on the buffered part.
  void flush() {
    write_(text_);
    text_.clear();
  }

  void summary() {
    const JsonObject value(json_.key("summary"));
    json::write_target(json_.key("target"), report_.capture);
    json::write_capture(json_.key("capture"), report_);
    json_.key("notes").begin_array();
    json::write_notes(json_, report_);
    if (const std::string ignored = findings::ignored_text(report_); !ignored.empty()) {
      const JsonObject note(json_);
      json_.member("kind", "ignored");
      json_.member("text", ignored);
    }
    json_.end_array();
    json_.member("filter", json::or_null(report_.filter));
    write_json(json_.key("totals"), report_.totals);
    write_json(json_.key("leaks"), report_.leaks);
    if (!report_.ignored.rules.empty()) json::write_ignored(json_.key("ignored"), report_.ignored, report_.totals);
  }

  // List of objects; `write_members` writes the members of each.
  template <typename Entries, typename WriteMembers>
  void list(const char* name, const Entries& entries, WriteMembers write_members) {
    json_.key(name).begin_array();
    for (const auto& entry : entries) {
      const JsonObject object(json_);
      write_members(entry);
    }
    json_.end_array();
  }

  void verdict() {
    list("verdict", options_.findings, [&](const findings::Finding& finding) {
      json_.member("severity", name_of(finding.severity));
      json_.member("kind", name_of(finding.kind));
      json_.member("text", finding.text);
      json_.member("stack", finding.stack ? std::optional(rows_.of_stack[*finding.stack]) : std::nullopt);
    });
  }

  // Strings that nothing in the file refers to are empty: so all keep their indices.
  std::vector<model::Frame> named_frames() const {
    std::vector<bool> is_named(report_.frames.size());
    const auto name = [&](const auto& frames) {
      for (const report::FrameIndex frame : frames) is_named[frame] = true;
    };
    name(rows_.nodes.frames);
    for (const report::ErrorEntry& error : report_.errors) {
      name(error.frames);
      if (error.allocated) name(error.allocated->frames);
      if (error.released) name(error.released->frames);
    }
    if (options_.comparison != nullptr) {
      for (const report::ComparedStack& stack : options_.comparison->stacks)
        name(report_.frames.indices(stack.frames_before));
    }
    std::vector<model::Frame> frames(report_.frames.size());
    for (size_t i = 0; i < frames.size(); ++i) {
      if (is_named[i]) frames[i] = report_.frames[i];
    }
    return frames;
  }

  void frames() {
    const std::vector<model::Frame> all = named_frames();
    const JsonObject table(json_.key("frames"));
    write_column(json_, "function", all, [&](const model::Frame& frame) { return strings_.number_of(frame.function); });
    write_column(json_, "module", all, [&](const model::Frame& frame) { return strings_.number_of(frame.module); });
    write_column(json_, "offset", all,
                 [](const model::Frame& frame) { return frame.module.empty() ? frame.address : frame.offset; });
    write_column(json_, "file", all, [&](const model::Frame& frame) { return strings_.number_of(frame.file); });
    write_column(json_, "line", all, [](const model::Frame& frame) { return frame.line; });
    write_column(json_, "inlined", all, [](const model::Frame& frame) { return frame.inlined ? 1U : 0U; });
    write_column(json_, "kind", all, [](const model::Frame& frame) { return findings::frame_kind(frame); });
  }

  void nodes() {
    const JsonObject table(json_.key("nodes"));
    write_column(json_, "parent", rows_.nodes.parents, place_or_none);
    write_column(json_, "frame", rows_.nodes.frames, [](report::FrameIndex frame) { return frame; });
  }

  static int64_t place_or_none(uint32_t place) { return place == CallNodes::kNone ? -1 : int64_t{place}; }

  // Figures of each row: of a stack, or of several folded ones. Without frames and threads.
  std::vector<StackEntry> row_figures() const {
    std::vector<StackEntry> figures(rows_.rows.size());
    for (size_t i = 0; i < report_.stacks.size(); ++i)
      report::add_figures(figures[rows_.of_stack[i]], report_.stacks[i]);
    for (size_t i = 0; i < figures.size(); ++i) {
      const StackEntry& first = report_.stacks[rows_.rows[i].stack];
      figures[i].id = first.id;
      figures[i].function = first.function;
      figures[i].mapping = first.mapping;
      figures[i].pooled = first.pooled;
      if (rows_.rows[i].folded != 0) continue;
      figures[i].variant = first.variant;
      figures[i].purpose = first.purpose;
    }
    return figures;
  }

  void stacks() {
    const std::vector<StackEntry> figures = row_figures();
    const JsonObject table(json_.key("stacks"));
    write_column(json_, "node", rows_.rows, [](const Row& row) { return place_or_none(row.node); });
    write_column(json_, "folded", rows_.rows, [](const Row& row) { return row.folded; });
    write_column(json_, "telling", rows_.rows, [&](const Row& row) {
      const report::FramePath path = report_.stacks[row.stack].frames;
      const model::Frame* const telling = row.folded != 0 ? nullptr : telling_.of(path);
      return telling == nullptr ? int64_t{-1} : telling - report_.frames.all().data();
    });
    write_column(json_, "label", rows_.rows, [&](const Row& row) {
      return strings_.number_of(row.folded != 0 ? "" : findings::labels_of(report_.stacks[row.stack]));
    });
    const auto column = [&](const char* name, auto value) { write_column(json_, name, figures, value); };
    column("id", [](const StackEntry& stack) { return stack.id; });
    column("function", [&](const StackEntry& stack) { return strings_.number_of(stack.function); });
    column("variant", [&](const StackEntry& stack) { return strings_.number_of(stack.variant); });
    column("mapping", [](const StackEntry& stack) { return stack.mapping ? 1U : 0U; });
    column("of_libraries",
           [](const StackEntry& stack) { return stack.purpose == report::Purpose::kProgram ? 0U : 1U; });
    column("pooled", [](const StackEntry& stack) { return stack.pooled ? 1U : 0U; });
    column("allocations", [](const StackEntry& stack) { return stack.allocations.if_known(); });
    column("frees", [](const StackEntry& stack) { return stack.releases.if_known(); });
    column("allocated_bytes", [](const StackEntry& stack) { return stack.own_allocated_bytes().if_known(); });
    column("live_blocks", [](const StackEntry& stack) { return stack.live_blocks.if_known(); });
    column("live_bytes", [](const StackEntry& stack) { return stack.own_live_bytes().if_known(); });
    column("reserved_bytes", [](const StackEntry& stack) { return stack.reserved_bytes().if_known(); });
    column("peak_bytes", [](const StackEntry& stack) { return stack.own_peak_bytes().if_known(); });
    column("temporary_allocations", [](const StackEntry& stack) { return stack.temporary_allocations.if_known(); });
    column("lifetime_ns", [](const StackEntry& stack) { return stack.lifetime_ns.if_known(); });
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
    column("cycle_blocks", [](const StackEntry& stack) {
      return stack.leaks ? std::optional(stack.leaks->in_cycles.blocks) : std::nullopt;
    });
  }

  void threads() {
    const std::span<const report::ThreadEntry> all = report::or_none(report_.threads);
    const JsonObject table(json_.key("threads"));
    write_column(json_, "number", all, [](const report::ThreadEntry& thread) { return thread.number; });
    write_column(json_, "kernel_id", all,
                 [](const report::ThreadEntry& thread) { return known(thread.kernel_id != 0, thread.kernel_id); });
    write_column(json_, "name", all,
                 [&](const report::ThreadEntry& thread) { return strings_.number_of(thread.name); });
    if (report_.of_run) {
      write_column(json_, "process", all,
                   [&](const report::ThreadEntry& thread) { return processes_.of_process[thread.process]; });
    }
    write_column(json_, "allocations", all, [](const report::ThreadEntry& thread) { return thread.allocations; });
    write_column(json_, "frees", all, [](const report::ThreadEntry& thread) { return thread.releases; });
    write_column(json_, "allocated_bytes", all,
                 [](const report::ThreadEntry& thread) { return thread.allocated_bytes; });
  }

  // Class 0 has blocks of 0 bytes, class n those of 2^(n-1) to 2^n - 1, up to the largest exact number of JSON.
  void size_classes() {
    constexpr uint64_t kClasses = 53;
    std::vector<uint64_t> classes;
    for (uint64_t i = 0; i < kClasses; ++i) classes.push_back(i);
    const auto lowest = [](uint64_t i) { return i == 0 ? 0 : uint64_t{1} << (i - 1); };
    const JsonObject table(json_.key("size_classes"));
    write_column(json_, "lowest", classes, lowest);
    write_column(json_, "highest", classes, [&](uint64_t i) { return i == 0 ? 0 : 2 * lowest(i) - 1; });
  }

  void activity() {
    report::Activity activity;
    if (report_.activity && options_.with_cells) activity = by_row(*report_.activity);
    {
      const JsonObject bins(json_.key("bins"));
      json_.member("start_ns", activity.start_ns);
      json_.member("width_ns", activity.width_ns);
      json_.member("count", activity.bin_count);
    }
    cells(activity.cells);
    flush();
    const JsonObject table(json_.key("left"));
    keys(activity.left);
    write_column(json_, "state", activity.left,
                 [](const report::LeftCell& cell) { return static_cast<uint32_t>(cell.state); });
    const bool has_blocks = report_.capture.import.tells(model::kNotRecordedCounts);
    write_column(json_, "blocks", activity.left,
                 [&](const report::LeftCell& cell) { return known(has_blocks, cell.blocks); });
    write_column(json_, "bytes", activity.left, [](const report::LeftCell& cell) { return cell.bytes; });
  }

  // With rows instead of stacks: cells of folded stacks are added up.
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
  void keys(const Cells& cells) {
    write_column(json_, "stack", cells, [&](const auto& cell) { return cell.stack; });
    const bool has_threads = report_.threads.has_value();
    const bool has_sizes = report_.capture.import.tells(model::kNotRecordedCounts);
    write_column(json_, "thread", cells,
                 [&](const auto& cell) { return has_threads ? int64_t{cell.thread} : int64_t{-1}; });
    write_column(json_, "size", cells, [&](const auto& cell) {
      return has_sizes ? int64_t{std::min<uint8_t>(cell.size_class, 52)} : int64_t{-1};
    });
    if (report_.of_run) write_column(json_, "process", cells, [](const auto& cell) { return cell.process; });
    write_column(json_, "bin", cells, [](const auto& cell) { return cell.bin; });
  }

  void cells(const std::vector<report::ActivityCell>& cells) {
    using Cell = report::ActivityCell;
    const JsonObject table(json_.key("cells"));
    keys(cells);
    const bool calls = report_.totals.allocations.is_known();
    write_column(json_, "allocations", cells, [&](const Cell& cell) { return known(calls, cell.allocations); });
    write_column(json_, "allocated_bytes", cells, [](const Cell& cell) { return cell.allocated_bytes; });
    write_column(json_, "frees", cells, [&](const Cell& cell) { return known(calls, cell.releases); });
    write_column(json_, "freed_bytes", cells, [](const Cell& cell) { return cell.released_bytes; });
    write_column(json_, "temporary", cells, [&](const Cell& cell) { return known(calls, cell.temporary); });
  }

  // Marks of this program, on its clock; only the last ones if there are very many.
  void marks() {
    constexpr size_t kMaxMarks = 1000;
    std::vector<const model::Mark*> shown;
    if (!report_.of_run && report_.capture.import.has_times()) {
      for (const model::Mark& mark : report_.marks) {
        if (mark.kind != model::MarkKind::kEarlier) shown.push_back(&mark);
      }
    }
    const size_t more = shown.size() > kMaxMarks ? shown.size() - kMaxMarks : 0;
    shown.erase(shown.begin(), shown.begin() + static_cast<std::ptrdiff_t>(more));
    list("marks", shown, [&](const model::Mark* mark) {
      json_.member("name", findings::mark_text(*mark));
      json_.member("time_ns", mark->time_ns);
    });
    json_.member("more_marks", more);
  }

  void timeline() {
    const std::vector<report::TimelinePoint>& points = report_.timeline;
    if (!report_.has_events || points.empty() || !report_.capture.import.has_times())
      return json_.member("timeline", nullptr);
    const JsonObject table(json_.key("timeline"));
    json_.member("start_ns", report_.timeline_start_ns);
    json_.member("width_ns", points.front().time_ns - report_.timeline_start_ns);
    using Point = report::TimelinePoint;
    write_column(json_, "live_bytes", points, [](const Point& point) { return point.live_bytes; });
    write_column(json_, "live_blocks", points, [](const Point& point) { return point.live_blocks.if_known(); });
    write_column(json_, "peak_live_bytes", points, [](const Point& point) { return point.peak_live_bytes; });
    write_column(json_, "allocations", points, [](const Point& point) { return point.allocations.if_known(); });
    write_column(json_, "frees", points, [](const Point& point) { return point.releases.if_known(); });
    write_column(json_, "mapped_bytes", points, [](const Point& point) { return point.mapped_bytes.if_known(); });
    write_column(json_, "mapped_memory_bytes", points,
                 [](const Point& point) { return point.mapped_memory_bytes.if_known(); });
    write_column(json_, "resident_bytes", points, [](const Point& point) { return point.resident_bytes.if_known(); });
  }

  void sizes() {
    if (!report_.sizes || !report_.has_events) return json_.member("sizes", nullptr);
    constexpr size_t kMaxSizes = 4096;
    const std::span<const report::ExactSize> all(report_.sizes->top);
    const auto sizes = all.first(std::min(kMaxSizes, all.size()));
    const JsonObject table(json_.key("sizes"));
    write_column(json_, "size", sizes, [](const report::ExactSize& size) { return size.size_bytes; });
    write_column(json_, "allocations", sizes, [](const report::ExactSize& size) { return size.allocations; });
    write_column(json_, "live_blocks", sizes, [](const report::ExactSize& size) { return size.live_blocks; });
  }

  void lifetimes() {
    if (!report_.has_events || report_.of_run || !report_.lifetimes) return json_.member("lifetimes", nullptr);
    using Class = report::LifetimeClass;
    const std::vector<Class>& classes = *report_.lifetimes;
    const JsonObject table(json_.key("lifetimes"));
    write_column(json_, "lowest_ns", classes, [](const Class& each) { return each.lowest_ns; });
    write_column(json_, "highest_ns", classes,
                 [](const Class& each) { return known(each.highest_ns != 0, each.highest_ns); });
    write_column(json_, "blocks", classes, [](const Class& each) { return each.blocks; });
    write_column(json_, "bytes", classes, [](const Class& each) { return each.bytes; });
  }

  void origin(const char* name, const std::optional<report::ErrorEntry::Origin>& origin) {
    if (!origin) return json_.member(name, nullptr);
    const JsonObject value(json_.key(name));
    json_.member("function", origin->function);
    json_.member("size", origin->size_bytes);
    json_.key("frames").values(origin->frames);
    ending(origin->end);
  }

  // Left out of whole stacks.
  void ending(wire::StackEnd end) {
    if (const std::string text = findings::ending_of(end); !text.empty()) json_.member("ends_early", text);
  }

  void errors() {
    list("errors", report_.errors, [&](const report::ErrorEntry& error) {
      json_.member("kind", error.kind);
      json_.member("function", error.function);
      json_.member("address", json::address_or_null(error.address));
      json_.member("count", error.count);
      json_.key("frames").values(error.frames);
      ending(error.end);
      origin("allocated", error.allocated);
      origin("released", error.released);
    });
  }

  void holders() {
    list("holders", report_.stack_holders, [&](const report::StackHolders& entry) {
      json_.member("stack", rows_.of_stack[entry.stack]);
      json_.key("text").values(findings::holder_lines(report_, entry.holders));
      json_.member("blocks", entry.holders.of_stack.blocks);
      json_.member("bytes", entry.holders.of_stack.bytes);
    });
  }

  void globals() {
    const std::vector<report::GlobalEntry> none;
    list("globals", report_.globals ? report_.globals->entries : none, [&](const report::GlobalEntry& entry) {
      json_.member("name", findings::root_text(report_, entry.variable));
      json_.member("file", entry.variable.file);
      json_.member("line", entry.variable.line);
      json_.member("direct_bytes", entry.direct.bytes);
      json_.member("direct_blocks", entry.direct.blocks);
      json_.member("retained_bytes", entry.retained.bytes);
      json_.member("retained_blocks", entry.retained.blocks);
      json_.member("of_libraries", entry.of_libraries);
    });
  }

  void retained() {
    std::vector<const report::RetainedEntry*> listed;
    for (const report::RetainedEntry& entry : retained_entries()) {
      if (row_of_id(entry.stack_id)) listed.push_back(&entry);
    }
    list("retained", listed, [&](const report::RetainedEntry* entry) {
      json_.member("stack", *row_of_id(entry->stack_id));
      json_.member("own_blocks", entry->own.blocks);
      json_.member("own_bytes", entry->own.bytes);
      json_.member("retained_blocks", entry->retained.blocks);
      json_.member("retained_bytes", entry->retained.bytes);
    });
  }

  [[nodiscard]] std::span<const report::RetainedEntry> retained_entries() const {
    return report_.retained ? std::span(report_.retained->entries) : std::span<const report::RetainedEntry>();
  }

  std::optional<uint32_t> row_of_id(uint64_t id) {
    if (rows_by_id_.empty()) {
      for (size_t i = 0; i < report_.stacks.size(); ++i) rows_by_id_.emplace(report_.stacks[i].id, rows_.of_stack[i]);
    }
    const auto found = rows_by_id_.find(id);
    return found == rows_by_id_.end() ? std::nullopt : std::optional(found->second);
  }

  void graph() {
    if (!report_.stack_graph) return json_.member("graph", nullptr);
    using Node = report::StackGraph::Node;
    using Edge = report::StackGraph::Edge;
    const report::StackGraph& graph = *report_.stack_graph;
    boost::unordered_flat_map<uint64_t, uint64_t> retained_bytes;  // by stack
    for (const report::RetainedEntry& entry : retained_entries())
      retained_bytes.emplace(entry.stack_id, entry.retained.bytes);
    const JsonObject value(json_.key("graph"));
    {
      const JsonObject table(json_.key("nodes"));
      write_column(json_, "label", graph.nodes, [&](const Node& node) {
        return strings_.number_of(node.root ? findings::root_text(report_, *node.root) : stack_label(node.stack));
      });
      write_column(json_, "kind", graph.nodes, [](const Node& node) { return node.root ? "root" : "stack"; });
      write_column(json_, "stack", graph.nodes,
                   [&](const Node& node) { return node.root ? int64_t{-1} : int64_t{rows_.of_stack[node.stack]}; });
      write_column(json_, "blocks", graph.nodes, [](const Node& node) { return node.blocks.blocks; });
      write_column(json_, "bytes", graph.nodes, [](const Node& node) { return node.blocks.bytes; });
      write_column(json_, "retained_bytes", graph.nodes, [&](const Node& node) {
        const auto found = node.root ? retained_bytes.end() : retained_bytes.find(report_.stacks[node.stack].id);
        return found == retained_bytes.end() ? std::nullopt : std::optional(found->second);
      });
    }
    const JsonObject table(json_.key("edges"));
    write_column(json_, "from", graph.edges, [](const Edge& edge) { return edge.from; });
    write_column(json_, "to", graph.edges, [](const Edge& edge) { return edge.to; });
    write_column(json_, "count", graph.edges, [](const Edge& edge) { return edge.count; });
  }

  std::string stack_label(uint32_t stack) const {
    const model::Frame* const frame =
        findings::telling_frame(report_.list(report_.stacks[stack].frames), report_.skipped);
    if (frame == nullptr) return report_.stacks[stack].function;
    return fmt::format("{} {}", findings::function_of(*frame, 48), findings::location_of(*frame));
  }

  void address_space() {
    if (!report_.address_space || report_.address_space->pages.empty()) return json_.member("address_space", nullptr);
    const std::vector<report::PageUse>& pages = report_.address_space->pages;
    const JsonObject value(json_.key("address_space"));
    json_.member("page_bytes", report_.address_space->page_bytes);
    {
      const JsonObject table(json_.key("pages"));
      write_column(json_, "address", pages, [](const report::PageUse& page) { return JsonHex{page.address}; });
      write_column(json_, "live_bytes", pages, [](const report::PageUse& page) { return page.live_bytes; });
      write_column(json_, "blocks", pages, [](const report::PageUse& page) { return page.blocks; });
      write_column(json_, "stack", pages, [&](const report::PageUse& page) { return rows_.of_stack[page.stack]; });
    }
    json_.member("max_gap_bytes", report_.address_space->max_gap_bytes);
    const std::vector<report::BlockSpan>& spans = report_.address_space->spans;
    const JsonObject table(json_.key("spans"));
    write_column(json_, "start", spans, [](const report::BlockSpan& span) { return JsonHex{span.address}; });
    write_column(json_, "length", spans, [](const report::BlockSpan& span) { return span.length; });
    write_column(json_, "live_bytes", spans, [](const report::BlockSpan& span) { return span.live_bytes; });
    write_column(json_, "blocks", spans, [](const report::BlockSpan& span) { return span.blocks; });
    write_column(json_, "touched_bytes", spans, [](const report::BlockSpan& span) { return span.touched_bytes; });
  }

  // Where resident memory is at the leak scan: what `show fragmentation` prints.
  void fragmentation() {
    const JsonObject value(json_.key("resident"));
    if (!report_.fragmentation || !report_.totals.resident_parts) {
      json_.member("unknown", report_.leaks.scanned ? findings::resident_unknown_text(report_.capture) : "");
      return;
    }
    const report::ResidentParts& parts = *report_.totals.resident_parts;
    const report::Fragmentation& fragmentation = *report_.fragmentation;
    json_.member("moment", findings::moment_of(parts));
    json_.member("time_ns", parts.time_ns);
    json_.member("bytes", parts.bytes);
    json_.member("knows_all_blocks", parts.knows_all_blocks);
    list("parts", findings::rounded_parts(parts), [&](const findings::ResidentPart& part) {
      json_.member("kind", part.kind);
      json_.member("name", part.name);
      json_.member("bytes", part.bytes);
      json_.member("tenths", part.tenths);
    });
    list("arenas", fragmentation.arenas, [&](const report::ArenaUse& arena) {
      json_.member("name", findings::arena_name(arena));
      json_.member("of_glibc", arena.kind != model::RegionKind::kAllocator);
      json_.member("resident_bytes", arena.resident_bytes);
      json_.member("live_bytes", arena.live.bytes);
      json_.member("live_blocks", arena.live.blocks);
      json_.member("unused_page_bytes", arena.unused_bytes);
    });
    json_.member("unused_page_bytes", fragmentation.unused_bytes);
    json_.member("kept_bytes", fragmentation.kept_bytes);
    keeps(fragmentation.stacks);
  }

  // By row of the stacks. A page may have blocks of several stacks, so pages of folded ones don't add up.
  struct RowKeep {
    report::StackKeep sum;
    uint64_t stacks = 0;
  };

  void keeps(const std::vector<report::StackKeep>& stacks) {
    std::vector<uint32_t> order;
    boost::unordered_flat_map<uint32_t, RowKeep> by_row;
    for (const report::StackKeep& stack : stacks) {
      const std::optional<uint32_t> row = row_of_id(stack.stack_id);
      if (!row) continue;
      RowKeep& keep = by_row[*row];
      if (keep.stacks++ == 0) order.push_back(*row);
      keep.sum.live += stack.live;
      keep.sum.pages += stack.pages;
      keep.sum.kept_bytes += stack.kept_bytes;
    }
    const JsonObject table(json_.key("stacks"));
    const auto column = [&](const char* name, auto value_of) {
      write_column(json_, name, order, [&](uint32_t row) { return value_of(by_row[row]); });
    };
    write_column(json_, "stack", order, [](uint32_t row) { return row; });
    column("live_bytes", [](const RowKeep& keep) { return keep.sum.live.bytes; });
    column("live_blocks", [](const RowKeep& keep) { return keep.sum.live.blocks; });
    column("pages", [](const RowKeep& keep) { return known(keep.stacks == 1, keep.sum.pages); });
    column("kept_bytes", [](const RowKeep& keep) { return keep.sum.kept_bytes; });
  }

  void processes() {
    list("processes", processes_.rows, [&](const ProcessRow& row) {
      if (row.folded != 0)
        others(row.folded);
      else
        process(report_.processes[row.process]);
    });
  }

  void process(const report::ProcessEntry& process) {
    constexpr size_t kMaxName = 200;
    const bool is_read = process.failure.empty();
    const bool scanned = is_read && process.leaks.scanned;
    const auto number = [&](const char* name, bool is_known, uint64_t value) {
      json_.member(name, known(is_known, value));
    };
    json_.member("program", findings::short_name(findings::program_of(process.capture), kMaxName));
    json_.member("pid", process.capture.pid);
    number("parent_pid", process.capture.parent_pid != 0, process.capture.parent_pid);
    json_.member("exit", is_read ? findings::exit_text(process.capture) : process.failure);
    number("duration_ns", is_read && process.capture.ended, process.capture.duration_ns);
    const auto figure = [&](const char* name, const base::Known<uint64_t>& value) {
      number(name, is_read && value.is_known(), value.counted());
    };
    figure("allocations", process.totals.allocations);
    figure("peak_live_bytes", process.totals.peak_live_bytes);
    number("peak_error_bytes", is_read && process.totals.peak_live_bytes.is_known(), process.totals.peak_error_bytes);
    figure("live_bytes", process.totals.live_bytes);
    number("peak_mapped_memory_bytes", is_read && process.totals.mapped.are_known(),
           process.totals.mapped.memory.peak_bytes);
    number("definite_bytes", scanned, process.leaks.definite.bytes);
    number("definite_blocks", scanned, process.leaks.definite.blocks);
    number("indirect_bytes", scanned, process.leaks.indirect.bytes);
    number("indirect_blocks", scanned, process.leaks.indirect.blocks);
    if (process.live_bytes.empty())
      json_.member("course", nullptr);
    else
      write_column(json_, "course", process.live_bytes, [](uint64_t bytes) { return bytes; });
    json_.member("trace", process.trace_path);
    json_.member("folded", 0);
  }

  // The row of the process whose peak stacks' peak_bytes are parts of.
  void peak_process() {
    const report::ProcessEntry* const process = report::peak_process_of(report_);
    if (process == nullptr) return json_.member("peak_process", nullptr);
    json_.member("peak_process", processes_.of_process[static_cast<size_t>(process - report_.processes.data())]);
  }

  // A row for all processes without one of their own.
  void others(uint64_t count) {
    json_.member("program", fmt::format("{} smaller processes", count));
    for (const char* name : {"pid", "parent_pid", "exit", "duration_ns", "allocations", "peak_live_bytes",
                             "peak_error_bytes", "live_bytes", "peak_mapped_memory_bytes", "definite_bytes",
                             "definite_blocks", "indirect_bytes", "indirect_blocks", "course"})
      json_.member(name, nullptr);
    json_.member("trace", "");
    json_.member("folded", count);
  }

  void sources() {
    const JsonObject files(json_.key("sources"));
    if (options_.sources == nullptr) return;
    for (const auto& [path, lines] : *options_.sources) {
      json_.key(path).values(lines);
    }
  }

  void difference() {
    if (options_.comparison == nullptr) return json_.member("difference", nullptr);
    write_difference(json_.key("difference"), *options_.comparison, rows_);
  }

  void suppressions() {
    const JsonObject table(json_.key("suppressions"));
    if (!options_.with_suppressions) return;
    std::vector<bool> done(rows_.rows.size());
    for (const auto& [stack, text] : report_.stack_suppressions) {
      const uint32_t row = rows_.of_stack[stack];
      if (rows_.rows[row].folded != 0 || done[row]) continue;
      done[row] = true;
      json_.member(std::to_string(row), text);
    }
  }

  void folded() {
    const bool without_cells = report_.activity && !options_.with_cells;
    const bool without_suppressions = !report_.stack_suppressions.empty() && !options_.with_suppressions;
    const bool is_whole = rows_.folded_stacks == 0 && processes_.folded == 0 && strings_.cut() == 0;
    if (is_whole && !without_cells && !without_suppressions) return json_.member("folded", nullptr);
    const JsonObject value(json_.key("folded"));
    json_.member("stacks", rows_.folded_stacks);
    json_.member("bytes", rows_.folded_bytes);
    json_.member("processes", processes_.folded);
    json_.member("names", strings_.cut());
    json_.member("cells", without_cells);
    json_.member("suppressions", without_suppressions);
  }

  const Report& report_;
  const DocumentOptions& options_;
  const report::Write& write_;
  Rows rows_;
  ProcessRows processes_;
  Strings strings_;
  findings::TellingFrames telling_{report_};
  boost::unordered_flat_map<uint64_t, uint32_t> rows_by_id_;
  std::string text_;
  json::JsonWriter json_{text_};
};

}  // namespace

void write_document(const Report& report, const DocumentOptions& options, const report::Write& write) {
  Document document(report, options, write);
  document.make();
  document.finish();
}

}  // namespace heaptap::html
