// The format of speedscope: a profile for each number that is known, all over one table of frames. What is shown of a stack is
// its number; there is no time in it.
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

void write_frame(const model::Frame& frame, const report::Write& write) {
  std::string text = fmt::format("{{\"name\":{}", json_text(name_of(frame)));
  const std::string file = frame.file.empty() ? module_of(frame) : file_of(frame);
  if (!file.empty()) text += fmt::format(",\"file\":{}", json_text(file));
  if (frame.line != 0) text += fmt::format(",\"line\":{}", frame.line);
  write(text + "}");
}

class Profiles {
 public:
  Profiles(const report::Report& report, const report::Write& write) : report_(report), write_(write) {}

  // The report's frames, and behind them the functions that were called.
  void write_frames() {
    const char* separator = "";
    for (const model::Frame& frame : report_.frames) {
      write_(std::exchange(separator, ",\n"));
      write_frame(frame, write_);
    }
    for (const report::StackEntry& stack : report_.stacks) {
      if (!called_.try_emplace(stack.function, report_.frames.size() + called_.size()).second) continue;
      write_(fmt::format("{}{{\"name\":{}}}", std::exchange(separator, ",\n"),
                         json_text(base::safe_text(stack.function))));
    }
  }

  void write_profile(const Metric& metric) {
    write_(fmt::format(
        "{{\"type\":\"sampled\",\"name\":{},\"unit\":\"{}\",\"startValue\":0,\"endValue\":{},\n\"samples\":[",
        json_text(std::string(metric.title)), metric.bytes ? "bytes" : "none", sum_of(metric, report_)));
    std::string weights;
    for (const report::StackEntry& stack : report_.stacks) {
      const uint64_t value = metric.of(stack);
      if (stack.is_apart() || value == 0) continue;
      std::string sample = weights.empty() ? "[" : ",\n[";
      for (auto frame = stack.frames.rbegin(); frame != stack.frames.rend(); ++frame)
        sample += fmt::format("{},", *frame);
      write_(sample + fmt::format("{}]", called_.at(stack.function)));
      weights += fmt::format("{}{}", weights.empty() ? "" : ",", value);
    }
    write_(fmt::format("],\n\"weights\":[{}]}}", weights));
  }

 private:
  const report::Report& report_;
  const report::Write& write_;
  std::map<std::string, size_t> called_;
};

}  // namespace

base::Result<> write_speedscope(const Input& input, const report::Write& write) {
  const std::string version = base::safe_text(input.report.capture.heaptap_version);
  write(fmt::format(
      "{{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n\"exporter\":{},\n\"name\":{},\n"
      "\"activeProfileIndex\":0,\n\"shared\":{{\"frames\":[\n",
      json_text("heaptap@" + version), json_text(command_of(input.report.capture))));
  Profiles profiles(input.report, write);
  profiles.write_frames();
  write("\n]},\n\"profiles\":[\n");
  const char* separator = "";
  for (const MetricKind kind : kShown) {
    const Metric& metric = metric_of(kind);
    if (!is_known(metric, input.report)) continue;
    write(std::exchange(separator, ",\n"));
    profiles.write_profile(metric);
  }
  write("\n]}\n");
  return {};
}

}  // namespace heaptap::exports
