// pprof format: a gzipped message of profile.proto (https://github.com/google/pprof/blob/main/proto/profile.proto).
//
// A sample is a stack with all of its metrics. The allocation function (malloc, …) is a label, since other heap profilers' files have
// its caller innermost. Inlined frames are lines of the location they were inlined into.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "common/base/gzip.h"
#include "common/base/hex_text.h"
#include "common/base/safe_text.h"
#include "views/exports/frame_runs.h"
#include "views/exports/frame_text.h"
#include "views/exports/profile_writers.h"
#include "views/exports/protobuf.h"

namespace heaptap::exports {
namespace {

// Numbers of fields, in profile.proto.
enum ProfileField : uint32_t {
  kSampleType = 1,
  kSample,
  kMapping,
  kLocation,
  kFunction,
  kStringTable,
  kTimeNanos = 9,
  kDurationNanos = 10,
  kPeriodType = 11,
  kPeriod = 12,
  kDefaultSampleType = 14,
};

struct SampleType {
  MetricKind metric;
  std::string_view type;
};
// The first four are those of other heap profilers; types that are unknown in a trace are left out.
constexpr SampleType kSampleTypes[] = {
    {MetricKind::kAllocations, "alloc_objects"},
    {MetricKind::kAllocated, "alloc_space"},
    {MetricKind::kLiveBlocks, "inuse_objects"},
    {MetricKind::kLive, "inuse_space"},
    {MetricKind::kPeak, "peak_space"},
    {MetricKind::kTemporary, "temporary_objects"},
    {MetricKind::kLeakedBlocks, "leaked_objects"},
    {MetricKind::kLeaked, "leaked_space"},
};

class Profile {
 public:
  // `stored`: null for a file.
  Profile(const Input& input, const StoredProfile* stored, const report::Write& write)
      : report_(input.report), tables_(input.trace->tables()), stored_(stored), out_(write) {}
  // False: no samples.
  bool write();

 private:
  using FrameSpan = std::vector<report::FrameIndex>;

  void put(uint32_t field, const ProtobufMessage& message) {
    ProtobufMessage outer;
    outer.add(field, message);
    out_.write(outer.bytes());
  }
  void put_number(uint32_t field, uint64_t number) {
    ProtobufMessage outer;
    outer.add(field, number);
    out_.write(outer.bytes());
  }
  uint64_t text(const std::string& text);
  uint64_t mapping(const std::string& path, uint64_t address);
  uint64_t function(const std::string& name, const std::string& symbol, const std::string& file);
  uint64_t location(const FrameSpan& frames);
  uint64_t location_of_call(const std::string& function);
  [[nodiscard]] bool is_wanted(MetricKind metric) const;
  void write_types();
  void write_times();
  void write_labels(ProtobufMessage& sample, const report::StackEntry& stack);
  void write_sample(const report::StackEntry& stack);

  const report::Report& report_;
  const model::Tables& tables_;
  const StoredProfile* const stored_;
  base::GzipWriter out_;
  uint64_t samples_ = 0;
  std::vector<const Metric*> shown_;
  std::vector<std::string> texts_{""};
  std::map<std::string, uint64_t> text_numbers_{{"", 0}};
  std::map<std::pair<std::string, uint64_t>, uint64_t> mappings_;  // by path and start address
  std::map<std::tuple<std::string, std::string, std::string>, uint64_t> functions_;
  std::map<FrameSpan, uint64_t> locations_;
  std::map<std::string, uint64_t> call_locations_;
};

uint64_t Profile::text(const std::string& text) {
  const auto [found, added] = text_numbers_.try_emplace(text, texts_.size());
  if (added) texts_.push_back(text);
  return found->second;
}

uint64_t Profile::mapping(const std::string& path, uint64_t address) {
  if (path.empty()) return 0;
  const auto holds = [&](const model::Module& module) {
    return module.path == path && address >= module.start && address < module.end;
  };
  const auto module = std::ranges::find_if(tables_.modules, holds);
  const bool is_known = module != tables_.modules.end();
  const auto [found, added] = mappings_.try_emplace({path, is_known ? module->start : 0}, mappings_.size() + 1);
  if (added) {
    ProtobufMessage message;
    message.add(1, found->second);
    if (is_known) message.add(2, module->start);
    if (is_known) message.add(3, module->end);
    message.add(5, text(base::safe_text(path)));
    if (is_known) message.add(6, text(base::hex_text(module->build_id)));
    for (const uint32_t has : {7U, 8U, 9U, 10U})
      message.add(has, uint64_t{1});  // names, files, lines, inlined ones: all there
    put(kMapping, message);
  }
  return found->second;
}

uint64_t Profile::function(const std::string& name, const std::string& symbol, const std::string& file) {
  const auto [found, added] = functions_.try_emplace({name, symbol, file}, functions_.size() + 1);
  if (added) {
    ProtobufMessage message;
    message.add(1, found->second);
    message.add(2, text(name));
    message.add(3, text(symbol));
    message.add(4, text(file));
    put(kFunction, message);
  }
  return found->second;
}

// A frame without code, after those that were inlined into it.
uint64_t Profile::location(const FrameSpan& frames) {
  const auto [found, added] = locations_.try_emplace(frames, locations_.size() + call_locations_.size() + 1);
  if (!added) return found->second;
  const model::Frame& outermost = report_.frames[frames.back()];
  ProtobufMessage message;
  message.add(1, found->second);
  message.add(2, mapping(outermost.module, outermost.address));
  message.add(3, outermost.address);
  for (const report::FrameIndex index : frames) {
    const model::Frame& frame = report_.frames[index];
    ProtobufMessage line;
    const std::string name = name_of(frame);
    line.add(1, function(name, frame.symbol.empty() ? name : base::safe_text(frame.symbol), file_of(frame)));
    line.add(2, frame.line);
    message.add(4, line);
  }
  put(kLocation, message);
  return found->second;
}

// For a stack of which only the allocation function is known.
uint64_t Profile::location_of_call(const std::string& called) {
  const auto [found, added] = call_locations_.try_emplace(called, locations_.size() + call_locations_.size() + 1);
  if (added) {
    ProtobufMessage line;
    line.add(1, function(called, called, ""));
    ProtobufMessage message;
    message.add(1, found->second);
    message.add(4, line);
    put(kLocation, message);
  }
  return found->second;
}

bool Profile::is_wanted(MetricKind metric) const {
  return stored_ == nullptr || std::ranges::find(stored_->metrics, metric) != stored_->metrics.end();
}

void Profile::write_types() {
  uint64_t preferred = 0;
  for (const SampleType& type : kSampleTypes) {
    const Metric& metric = metric_of(type.metric);
    if (!is_wanted(type.metric) || !is_known(metric, report_)) continue;
    shown_.push_back(&metric);
    ProtobufMessage message;
    message.add(1, text(std::string(type.type)));
    message.add(2, text(metric.bytes ? "bytes" : "count"));
    put(kSampleType, message);
    if (type.metric == MetricKind::kLive || (preferred == 0 && metric.bytes)) preferred = text(std::string(type.type));
  }
  put_number(kDefaultSampleType, preferred);
}

void Profile::write_labels(ProtobufMessage& sample, const report::StackEntry& stack) {
  const auto add_label = [&](const char* key, const std::string& value) {
    ProtobufMessage label;
    label.add(1, text(key));
    label.add(2, text(value));
    sample.add(3, label);
  };
  add_label("function", base::safe_text(stack.function));
  for (const std::string& tag : stack.rare->tags) add_label("tag", base::safe_text(tag));
}

void Profile::write_sample(const report::StackEntry& stack) {
  std::vector<uint64_t> values;
  for (const Metric* metric : shown_) values.push_back(metric->of(stack).counted());
  if (stored_ != nullptr && std::ranges::all_of(values, [](uint64_t value) { return value == 0; })) return;
  std::vector<uint64_t> locations;
  for_each_run(report_.frames, stack.frames, [&](const FrameSpan& run) { locations.push_back(location(run)); });
  if (locations.empty()) locations.push_back(location_of_call(base::safe_text(stack.function)));
  ProtobufMessage sample;
  sample.add_packed(1, locations);
  sample.add_packed(2, values);
  if (stored_ == nullptr) write_labels(sample, stack);
  put(kSample, sample);
  ++samples_;
}

void Profile::write_times() {
  put_number(kTimeNanos, stored_ == nullptr ? report_.capture.start_unix_ns : stored_->time_unix_ns);
  put_number(kDurationNanos, stored_ == nullptr ? report_.capture.duration_ns : stored_->duration_ns);
  if (stored_ == nullptr && report_.capture.sample_interval == 0) return;
  // Stores name a profile's types by this one as well. Where nothing is sampled, each byte counts.
  ProtobufMessage period;
  period.add(1, text("space"));
  period.add(2, text("bytes"));
  put(kPeriodType, period);
  put_number(kPeriod, std::max<uint64_t>(report_.capture.sample_interval, 1));
}

bool Profile::write() {
  write_types();
  // The program itself is first. Its module may be named by a link to its file.
  const std::string& program = report_.capture.executable;
  const auto module = std::ranges::find_if(
      tables_.modules, [&](const model::Module& each) { return each.path == program || each.file == program; });
  const bool is_known = module != tables_.modules.end();
  mapping(is_known ? module->path : program, is_known ? module->start : 0);
  for (const report::StackEntry& stack : report_.stacks)
    if (!stack.is_apart()) write_sample(stack);
  write_times();
  for (const std::string& text : texts_) {
    ProtobufMessage message;
    message.add(kStringTable, std::string_view(text));
    out_.write(message.bytes());
  }
  out_.finish();
  return samples_ != 0;
}

}  // namespace

base::Result<> write_pprof(const Input& input, const report::Write& write) {
  Profile(input, nullptr, write).write();
  return {};
}

bool write_stored_pprof(const Input& input, const StoredProfile& profile, const report::Write& write) {
  return Profile(input, &profile, write).write();
}

}  // namespace heaptap::exports
