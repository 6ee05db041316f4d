// Processed profile format of the Firefox Profiler: one thread per known metric, with the stacks as samples weighed by it. Samples have
// no time. All threads share the same tables.
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/report/path_values.h"
#include "analysis/report/view.h"
#include "common/base/safe_text.h"
#include "views/exports/frame_text.h"
#include "views/exports/profile_writers.h"
#include "views/json/json_pieces.h"
#include "views/json/json_writer.h"

namespace heaptap::exports {
namespace {

// Column with the same value in each row.
template <typename Value>
void write_same(json::JsonWriter& json, const char* name, size_t rows, Value value) {
  json.key(name).begin_array();
  for (size_t row = 0; row < rows; ++row) json.value(value);
  json.end_array();
}

void write_empty_columns(json::JsonWriter& json, std::initializer_list<const char*> names) {
  const json::JsonObject table(json);
  json.member("length", 0);
  for (const char* const name : names) {
    json.key(name).begin_array();
    json.end_array();
  }
}

class ThreadTables {
 public:
  explicit ThreadTables(const report::Report& report) {
    for (const model::Frame& frame : report.frames)
      add_frame(name_of(frame), frame.file.empty() ? module_of(frame) : file_of(frame), frame.line);
    report::PathValues<Place> of_path(report.frames.trie(), std::nullopt);
    for (const report::StackEntry& stack : report.stacks) add_stack(of_path, stack);
  }
  // Of the report's stack.
  [[nodiscard]] size_t stack(size_t place) const { return of_stack_[place]; }
  // As members of an object.
  [[nodiscard]] std::string text() const;

 private:
  using Place = std::optional<size_t>;

  size_t string(const std::string& text) {
    const auto [found, added] = string_places_.try_emplace(text, strings_.size());
    if (added) strings_.push_back(found->first);
    return found->second;
  }
  size_t add_frame(const std::string& name, const std::string& file, uint32_t line);
  void add_stack(report::PathValues<Place>& of_path, const report::StackEntry& entry);
  size_t node(Place prefix, size_t frame);
  void write_functions(json::JsonWriter& json) const;
  void write_frames(json::JsonWriter& json) const;
  void write_stacks(json::JsonWriter& json) const;

  std::map<std::string, size_t> string_places_;
  std::vector<std::string_view> strings_;  // keys of the places
  std::map<std::pair<size_t, Place>, size_t> function_places_;
  std::vector<size_t> function_names_;
  std::vector<Place> function_files_;  // strings
  std::vector<size_t> frame_functions_;
  std::vector<std::optional<uint32_t>> frame_lines_;
  std::map<std::string, size_t> called_;  // frames of the allocation functions
  std::map<std::pair<Place, size_t>, size_t> nodes_;
  std::vector<Place> prefixes_;  // stacks
  std::vector<size_t> stack_frames_;
  std::vector<size_t> of_stack_;
};

size_t ThreadTables::add_frame(const std::string& name, const std::string& file, uint32_t line) {
  const Place place = file.empty() ? Place() : string(file);
  const auto [function, added] = function_places_.try_emplace({string(name), place}, function_names_.size());
  if (added) {
    function_names_.push_back(function->first.first);
    function_files_.push_back(place);
  }
  frame_functions_.push_back(function->second);
  frame_lines_.push_back(line == 0 ? std::nullopt : std::optional(line));
  return frame_functions_.size() - 1;
}

size_t ThreadTables::node(Place prefix, size_t frame) {
  const auto [found, added] = nodes_.try_emplace({prefix, frame}, stack_frames_.size());
  if (added) {
    prefixes_.push_back(prefix);
    stack_frames_.push_back(frame);
  }
  return found->second;
}

void ThreadTables::add_stack(report::PathValues<Place>& of_path, const report::StackEntry& entry) {
  const Place prefix =
      of_path(entry.frames, [this](Place caller, report::FrameIndex frame) { return Place(node(caller, frame)); });
  auto called = called_.find(entry.function);
  if (called == called_.end())
    called = called_.emplace(entry.function, add_frame(base::safe_text(entry.function), "", 0)).first;
  of_stack_.push_back(node(prefix, called->second));
}

void ThreadTables::write_functions(json::JsonWriter& json) const {
  const size_t rows = function_names_.size();
  const json::JsonObject table(json);
  json.member("length", rows);
  json.key("name").values(function_names_);
  json.key("fileName").values(function_files_);
  write_same(json, "isJS", rows, false);
  write_same(json, "relevantForJS", rows, false);
  write_same(json, "resource", rows, -1);
  write_same(json, "lineNumber", rows, nullptr);
  write_same(json, "columnNumber", rows, nullptr);
}

void ThreadTables::write_frames(json::JsonWriter& json) const {
  const size_t rows = frame_functions_.size();
  const json::JsonObject table(json);
  json.member("length", rows);
  json.key("func").values(frame_functions_);
  json.key("line").values(frame_lines_);
  write_same(json, "column", rows, nullptr);
  write_same(json, "address", rows, -1);
  write_same(json, "inlineDepth", rows, 0);
  write_same(json, "category", rows, 0);
  write_same(json, "subcategory", rows, 0);
  write_same(json, "nativeSymbol", rows, nullptr);
  write_same(json, "innerWindowID", rows, nullptr);
  write_same(json, "implementation", rows, nullptr);
}

void ThreadTables::write_stacks(json::JsonWriter& json) const {
  const size_t rows = stack_frames_.size();
  const json::JsonObject table(json);
  json.member("length", rows);
  json.key("frame").values(stack_frames_);
  json.key("prefix").values(prefixes_);
  write_same(json, "category", rows, 0);
  write_same(json, "subcategory", rows, 0);
}

std::string ThreadTables::text() const {
  std::string text;
  json::JsonWriter json(text);
  json.key("stringArray").values(strings_);
  json.entry_on_line();
  write_functions(json.key("funcTable"));
  json.entry_on_line();
  write_frames(json.key("frameTable"));
  json.entry_on_line();
  write_stacks(json.key("stackTable"));
  json.entry_on_line();
  write_empty_columns(json.key("resourceTable"), {"lib", "name", "host", "type"});
  json.entry_on_line();
  write_empty_columns(json.key("nativeSymbols"), {"libIndex", "address", "name", "functionSize"});
  json.entry_on_line();
  write_empty_columns(json.key("markers"), {"data", "name", "startTime", "endTime", "phase", "category"});
  return text;
}

void write_samples(json::JsonWriter& json, const Metric& metric, const report::Report& report,
                   const ThreadTables& tables) {
  std::vector<size_t> stacks;
  std::vector<uint64_t> weights;
  for (size_t place = 0; place < report.stacks.size(); ++place) {
    const uint64_t value = metric.of(report.stacks[place]).counted();
    if (report.stacks[place].is_apart() || value == 0) continue;
    stacks.push_back(tables.stack(place));
    weights.push_back(value);
  }
  const json::JsonObject table(json);
  json.member("length", stacks.size());
  json.member("weightType", metric.bytes ? "bytes" : "samples");
  json.key("stack").values(stacks);
  json.key("weight").values(weights);
  write_same(json, "time", stacks.size(), 0);
}

void write_meta(json::JsonWriter& json, const model::Capture& capture) {
  const json::JsonObject meta(json);
  json.member("preprocessedProfileVersion", 47);  // the profiler brings it up to its own
  json.member("version", 27);
  json.member("interval", 1);
  json.member("startTime", capture.start_unix_ns / 1'000'000);
  json.member("processType", 0);
  json.member("product", command_of(capture));
  json.member("importedFrom", "heaptap");
  json.member("stackwalk", 1);
  json.member("debug", false);
  json.member("symbolicated", true);
  json.key("markerSchema").raw("[]");
  json.key("categories").raw(R"([{"name":"Other","color":"grey","subcategories":["Other"]}])");
}

void write_thread_head(json::JsonWriter& json, const Metric& metric, uint64_t pid, int number) {
  json.member("name", metric.title);
  json.member("pid", std::to_string(pid));
  json.member("tid", number);
  json.member("isMainThread", true);
  json.member("processType", "default");
  json.member("processStartupTime", 0);
  json.member("processShutdownTime", nullptr);
  json.member("registerTime", 0);
  json.member("unregisterTime", nullptr);
  json.key("pausedRanges").raw("[]");
}

}  // namespace

base::Result<> write_firefox(const Input& input, const report::Write& write) {
  const report::Report& report = input.report;
  const ThreadTables tables(report);
  const std::string text = tables.text();
  json::JsonPieces pieces(write);
  json::JsonWriter& json = pieces.json();
  json.begin_object();
  write_meta(json.key("meta"), report.capture);
  json.entry_on_line();
  json.key("libs").raw("[]");
  json.key("pages").raw("[]");
  json.key("threads").begin_array();
  for (const MetricKind kind : kProfileMetrics) {
    const Metric& metric = metric_of(kind);
    if (!is_known(metric, report)) continue;
    json.entry_on_line();
    json.begin_object();
    write_thread_head(json, metric, report.capture.pid, static_cast<int>(kind) + 1);
    json.entry_on_line();
    write_samples(json.key("samples"), metric, report, tables);
    json.entry_on_line();
    json.raw(text);
    json.end_object();
    pieces.flush();
  }
  json.line_break();
  json.end_array();
  json.end_object();
  return {};
}

}  // namespace heaptap::exports
