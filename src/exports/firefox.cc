// The processed format of the Firefox Profiler: a thread for each number that is known, whose samples are the stacks, with the
// number as their weight. There is no time in it. All of the threads have the same tables.
#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/safe_text.h"
#include "exports/frame_text.h"
#include "exports/json_text.h"
#include "exports/profile_writers.h"

namespace heaptap::exports {
namespace {

constexpr MetricKind kShown[] = {MetricKind::kLive,        MetricKind::kPeak,      MetricKind::kAllocated,
                                 MetricKind::kAllocations, MetricKind::kTemporary, MetricKind::kLeaked};

// A column that has the same value in each row.
std::string column(std::string_view name, size_t rows, std::string_view value) {
  std::string text = fmt::format(",\"{}\":[", name);
  for (size_t row = 0; row < rows; ++row) {
    if (row != 0) text += ',';
    text += value;
  }
  return text += ']';
}

template <typename Value>
std::string column(std::string_view name, const std::vector<Value>& values) {
  return fmt::format(",\"{}\":[{}]", name, fmt::join(values, ","));
}

class Tables {
 public:
  explicit Tables(const report::Report& report) {
    for (const model::Frame& frame : report.frames)
      add_frame(name_of(frame), frame.file.empty() ? module_of(frame) : file_of(frame), frame.line);
    for (const report::StackEntry& stack : report.stacks) add_stack(stack);
  }
  // Of the report's stack.
  [[nodiscard]] size_t stack(size_t place) const { return of_stack_[place]; }
  [[nodiscard]] std::string text() const;

 private:
  size_t string(const std::string& text) {
    const auto [found, added] = string_places_.try_emplace(text, strings_.size());
    if (added) strings_.push_back(json_text(text));
    return found->second;
  }
  size_t add_frame(const std::string& name, const std::string& file, uint32_t line);
  void add_stack(const report::StackEntry& entry);
  size_t node(const std::string& prefix, size_t frame);

  std::map<std::string, size_t> string_places_;
  std::vector<std::string> strings_;
  std::map<std::pair<size_t, std::string>, size_t> function_places_;
  std::vector<size_t> function_names_;
  std::vector<std::string> function_files_;  // "null", or the place of a string
  std::vector<size_t> frame_functions_;
  std::vector<std::string> frame_lines_;
  std::map<std::string, size_t> called_;  // frames of the functions that were called
  std::map<std::pair<std::string, size_t>, size_t> nodes_;
  std::vector<std::string> prefixes_;  // "null", or the place of a stack
  std::vector<size_t> stack_frames_;
  std::vector<size_t> of_stack_;
};

size_t Tables::add_frame(const std::string& name, const std::string& file, uint32_t line) {
  const std::string place = file.empty() ? "null" : fmt::format("{}", string(file));
  const auto [function, added] = function_places_.try_emplace({string(name), place}, function_names_.size());
  if (added) {
    function_names_.push_back(function->first.first);
    function_files_.push_back(place);
  }
  frame_functions_.push_back(function->second);
  frame_lines_.push_back(line == 0 ? "null" : fmt::format("{}", line));
  return frame_functions_.size() - 1;
}

size_t Tables::node(const std::string& prefix, size_t frame) {
  const auto [found, added] = nodes_.try_emplace({prefix, frame}, stack_frames_.size());
  if (added) {
    prefixes_.push_back(prefix);
    stack_frames_.push_back(frame);
  }
  return found->second;
}

void Tables::add_stack(const report::StackEntry& entry) {
  std::string prefix = "null";
  for (auto frame = entry.frames.rbegin(); frame != entry.frames.rend(); ++frame)
    prefix = fmt::format("{}", node(prefix, *frame));
  auto called = called_.find(entry.function);
  if (called == called_.end())
    called = called_.emplace(entry.function, add_frame(base::safe_text(entry.function), "", 0)).first;
  of_stack_.push_back(node(prefix, called->second));
}

std::string Tables::text() const {
  const size_t functions = function_names_.size();
  const size_t frames = frame_functions_.size();
  const size_t stacks = stack_frames_.size();
  std::string text = fmt::format("\"stringArray\":[{}]", fmt::join(strings_, ","));
  text += fmt::format(",\n\"funcTable\":{{\"length\":{}", functions);
  text += column("name", function_names_) + column("fileName", function_files_) + column("isJS", functions, "false") +
          column("relevantForJS", functions, "false") + column("resource", functions, "-1") +
          column("lineNumber", functions, "null") + column("columnNumber", functions, "null");
  text += fmt::format("}},\n\"frameTable\":{{\"length\":{}", frames);
  text += column("func", frame_functions_) + column("line", frame_lines_) + column("column", frames, "null") +
          column("address", frames, "-1") + column("inlineDepth", frames, "0") + column("category", frames, "0") +
          column("subcategory", frames, "0") + column("nativeSymbol", frames, "null") +
          column("innerWindowID", frames, "null") + column("implementation", frames, "null");
  text += fmt::format("}},\n\"stackTable\":{{\"length\":{}", stacks);
  text += column("frame", stack_frames_) + column("prefix", prefixes_) + column("category", stacks, "0") +
          column("subcategory", stacks, "0");
  text += "},\n\"resourceTable\":{\"length\":0,\"lib\":[],\"name\":[],\"host\":[],\"type\":[]}";
  text += ",\n\"nativeSymbols\":{\"length\":0,\"libIndex\":[],\"address\":[],\"name\":[],\"functionSize\":[]}";
  return text +=
         ",\n\"markers\":{\"length\":0,\"data\":[],\"name\":[],\"startTime\":[],\"endTime\":[],\"phase\":[],"
         "\"category\":[]}";
}

std::string samples_of(const Metric& metric, const report::Report& report, const Tables& tables) {
  std::vector<size_t> stacks;
  std::vector<uint64_t> weights;
  for (size_t place = 0; place < report.stacks.size(); ++place) {
    const uint64_t value = metric.of(report.stacks[place]);
    if (report.stacks[place].is_apart() || value == 0) continue;
    stacks.push_back(tables.stack(place));
    weights.push_back(value);
  }
  std::string text = fmt::format("\"samples\":{{\"length\":{},\"weightType\":\"{}\"", stacks.size(),
                                 metric.bytes ? "bytes" : "samples");
  return text += column("stack", stacks) + column("weight", weights) + column("time", stacks.size(), "0") + "}";
}

void write_head(const model::Capture& capture, const report::Write& write) {
  // Version 47 of the format: the profiler brings it up to its own.
  write(
      fmt::format("{{\"meta\":{{\"preprocessedProfileVersion\":47,\"version\":27,\"interval\":1,\"startTime\":{},"
                  "\"processType\":0,\"product\":{},\"importedFrom\":\"heaptap\",\"stackwalk\":1,\"debug\":false,"
                  "\"symbolicated\":true,\"markerSchema\":[],"
                  "\"categories\":[{{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]}}]}},\n",
                  capture.start_unix_ns / 1'000'000, json_text(command_of(capture))));
  write("\"libs\":[],\"pages\":[],\"threads\":[");
}

}  // namespace

base::Result<> write_firefox(const Input& input, const report::Write& write) {
  const report::Report& report = input.report;
  const Tables tables(report);
  const std::string text = tables.text();
  write_head(report.capture, write);
  const char* separator = "\n";
  for (const MetricKind kind : kShown) {
    const Metric& metric = metric_of(kind);
    if (!is_known(metric, report)) continue;
    write(
        fmt::format("{}{{\"name\":\"{}\",\"pid\":\"{}\",\"tid\":{},\"isMainThread\":true,\"processType\":\"default\","
                    "\"processStartupTime\":0,\"processShutdownTime\":null,\"registerTime\":0,"
                    "\"unregisterTime\":null,\"pausedRanges\":[],\n",
                    std::exchange(separator, ",\n"), metric.title, report.capture.pid, static_cast<int>(kind) + 1));
    write(samples_of(metric, report, tables));
    write(",\n");
    write(text);
    write("}");
  }
  write("\n]}\n");
  return {};
}

}  // namespace heaptap::exports
