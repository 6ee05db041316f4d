// speedscope format: one profile per known metric, over a shared frame table. A stack's weight is its metric; samples have no time.
#include <map>
#include <string>
#include <vector>

#include "analysis/report/view.h"
#include "common/base/safe_text.h"
#include "views/exports/frame_text.h"
#include "views/exports/profile_writers.h"
#include "views/json/json_pieces.h"
#include "views/json/json_writer.h"

namespace heaptap::exports {
namespace {

void write_frame(json::JsonWriter& json, const model::Frame& frame) {
  const json::JsonObject object(json);
  json.member("name", name_of(frame));
  const std::string file = frame.file.empty() ? module_of(frame) : file_of(frame);
  if (!file.empty()) json.member("file", file);
  if (frame.line != 0) json.member("line", frame.line);
}

class Profiles {
 public:
  Profiles(const report::Report& report, json::JsonPieces& pieces)
      : report_(report), pieces_(pieces), json_(pieces.json()) {}

  // The report's frames, followed by the allocation functions.
  void write_frames() {
    for (const model::Frame& frame : report_.frames) {
      json_.later_entry_on_line();
      write_frame(json_, frame);
      pieces_.flush();
    }
    for (const report::StackEntry& stack : report_.stacks) {
      if (!called_.try_emplace(stack.function, report_.frames.size() + called_.size()).second) continue;
      json_.later_entry_on_line();
      const json::JsonObject object(json_);
      json_.member("name", base::safe_text(stack.function));
    }
  }

  void write_profile(const Metric& metric) {
    const json::JsonObject object(json_);
    json_.member("type", "sampled");
    json_.member("name", metric.title);
    json_.member("unit", metric.bytes ? "bytes" : "none");
    json_.member("startValue", 0);
    json_.member("endValue", sum_of(metric, report_));
    json_.entry_on_line();
    json_.key("samples").begin_array();
    for (const report::StackEntry& stack : report_.stacks) {
      if (!is_sampled(metric, stack)) continue;
      json_.later_entry_on_line();
      write_sample(stack);
      pieces_.flush();
    }
    json_.end_array();
    json_.entry_on_line();
    json_.key("weights").begin_array();
    for (const report::StackEntry& stack : report_.stacks) {
      if (is_sampled(metric, stack)) json_.value(metric.of(stack).counted());
    }
    json_.end_array();
  }

 private:
  static bool is_sampled(const Metric& metric, const report::StackEntry& stack) {
    return !stack.is_apart() && metric.of(stack).counted() != 0;
  }
  // From the outermost frame to the allocation function.
  void write_sample(const report::StackEntry& stack) {
    json_.begin_array();
    for (const report::FrameIndex frame : report_.frames.outermost_first(stack.frames)) json_.value(frame);
    json_.value(called_.at(stack.function));
    json_.end_array();
  }

  const report::Report& report_;
  json::JsonPieces& pieces_;
  json::JsonWriter& json_;
  std::map<std::string, size_t> called_;
};

}  // namespace

base::Result<> write_speedscope(const Input& input, const report::Write& write) {
  json::JsonPieces pieces(write);
  json::JsonWriter& json = pieces.json();
  json.begin_object();
  json.member("$schema", "https://www.speedscope.app/file-format-schema.json");
  json.entry_on_line();
  json.member("exporter", "heaptap@" + base::safe_text(input.report.capture.heaptap_version));
  json.entry_on_line();
  json.member("name", command_of(input.report.capture));
  json.entry_on_line();
  json.member("activeProfileIndex", 0);
  json.entry_on_line();
  json.key("shared").begin_object();
  json.key("frames").begin_array();
  json.line_break();
  Profiles profiles(input.report, pieces);
  profiles.write_frames();
  json.line_break();
  json.end_array();
  json.end_object();
  json.entry_on_line();
  json.key("profiles").begin_array();
  json.line_break();
  for (const MetricKind kind : kProfileMetrics) {
    const Metric& metric = metric_of(kind);
    if (!is_known(metric, input.report)) continue;
    json.later_entry_on_line();
    profiles.write_profile(metric);
  }
  json.line_break();
  json.end_array();
  json.end_object();
  return {};
}

}  // namespace heaptap::exports
