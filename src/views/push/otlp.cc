#include "views/push/otlp.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "common/base/gzip.h"
#include "common/base/result.h"
#include "common/base/safe_text.h"
#include "common/base/whole_number.h"
#include "common/wire/varint.h"
#include "views/exports/frame_runs.h"
#include "views/exports/frame_text.h"
#include "views/exports/metric.h"
#include "views/exports/protobuf.h"

namespace heaptap::push {
namespace {

using exports::MetricKind;
using exports::ProtobufMessage;

// https://github.com/open-telemetry/opentelemetry-proto/blob/v1.10.0/opentelemetry/proto/profiles/v1development/profiles.proto
enum DictionaryField : uint32_t { kMappings = 1, kLocations, kFunctions, kLinks, kStrings, kAttributes, kStacks };
enum ProfileField : uint32_t { kSampleType = 1, kSamples, kTime, kDuration, kPeriodType, kPeriod };
enum SampleField : uint32_t { kStack = 1, kValues = 4 };

struct Type {
  MetricKind metric;
  std::string_view name;
  bool is_sum;  // of a time, else a state
};
constexpr Type kTypes[] = {{MetricKind::kAllocations, "alloc_objects", true},
                           {MetricKind::kAllocated, "alloc_space", true},
                           {MetricKind::kLiveBlocks, "inuse_objects", false},
                           {MetricKind::kLive, "inuse_space", false}};

// Tables that all profiles of a request share. The first entry of each is an empty one: it stands for none.
class Dictionary {
 public:
  explicit Dictionary(const exports::Input& input)
      : report_(input.report), tables_(input.trace->tables()), of_entry_(input.report.stacks.size()) {
    for (const DictionaryField table : {kMappings, kLocations, kFunctions, kLinks, kAttributes, kStacks})
      message_.add(table, ProtobufMessage());
    (void)text("");
  }

  uint64_t text(const std::string& text) {
    const auto [found, added] = texts_.try_emplace(text, texts_.size());
    if (added) message_.add(kStrings, std::string_view(text));
    return found->second;
  }

  // Of the report's stack at this index, which several profiles have.
  uint64_t stack(size_t index) {
    uint64_t& known = of_entry_[index];
    if (known == 0) known = stack_of(report_.stacks[index]);
    return known;
  }

  [[nodiscard]] const ProtobufMessage& message() const { return message_; }

 private:
  uint64_t stack_of(const report::StackEntry& entry) {
    std::vector<uint64_t> places;
    exports::for_each_run(report_.frames, entry.frames,
                          [&](const std::vector<report::FrameIndex>& run) { places.push_back(location(run)); });
    if (places.empty()) places.push_back(call(base::safe_text(entry.function)));
    return number_of(stacks_, places, kStacks, [&](ProtobufMessage& message) { message.add_packed(1, places); });
  }

  // Of an entry of a table, which is made if it is new. Entries are numbered from 1.
  template <typename Key, typename Make>
  uint64_t number_of(std::map<Key, uint64_t>& numbers, const Key& key, DictionaryField table, const Make& make) {
    const auto [found, added] = numbers.try_emplace(key, numbers.size() + 1);
    const uint64_t number = found->second;
    if (!added) return number;
    ProtobufMessage entry;
    make(entry);
    message_.add(table, entry);
    return number;
  }

  uint64_t function(const std::string& name, const std::string& symbol, const std::string& file) {
    return number_of(functions_, std::tuple(name, symbol, file), kFunctions, [&](ProtobufMessage& message) {
      message.add(1, text(name));
      message.add(2, text(symbol));
      message.add(3, text(file));
    });
  }

  uint64_t mapping(const model::Frame& frame) {
    if (frame.module.empty()) return 0;
    const auto module = std::ranges::find_if(tables_.modules, [&](const model::Module& each) {
      return each.path == frame.module && frame.address >= each.start && frame.address < each.end;
    });
    const bool is_known = module != tables_.modules.end();
    const std::pair key(frame.module, is_known ? module->start : 0);
    return number_of(mappings_, key, kMappings, [&](ProtobufMessage& message) {
      if (is_known) message.add(1, module->start);
      if (is_known) message.add(2, module->end);
      message.add(4, text(exports::module_of(frame)));
    });
  }

  // A frame without code, after those that were inlined into it.
  uint64_t location(const std::vector<report::FrameIndex>& frames) {
    return number_of(locations_, frames, kLocations, [&](ProtobufMessage& message) {
      const model::Frame& outermost = report_.frames[frames.back()];
      message.add(1, mapping(outermost));
      message.add(2, outermost.address);
      for (const report::FrameIndex index : frames) {
        const model::Frame& frame = report_.frames[index];
        const std::string name = exports::name_of(frame);
        ProtobufMessage line;
        line.add(1,
                 function(name, frame.symbol.empty() ? name : base::safe_text(frame.symbol), exports::file_of(frame)));
        line.add(2, frame.line);
        message.add(3, line);
      }
    });
  }

  // For a stack of which only the allocation function is known.
  uint64_t call(const std::string& called) {
    const uint64_t made = function(called, called, "");
    const std::vector<report::FrameIndex> key{~report::FrameIndex{0}, static_cast<report::FrameIndex>(made)};
    return number_of(locations_, key, kLocations, [&](ProtobufMessage& message) {
      ProtobufMessage line;
      line.add(1, made);
      message.add(3, line);
    });
  }

  const report::Report& report_;
  const model::Tables& tables_;
  ProtobufMessage message_;
  std::map<std::string, uint64_t> texts_;
  std::map<std::tuple<std::string, std::string, std::string>, uint64_t> functions_;
  std::map<std::pair<std::string, uint64_t>, uint64_t> mappings_;
  std::map<std::vector<report::FrameIndex>, uint64_t> locations_;
  std::map<std::vector<uint64_t>, uint64_t> stacks_;
  std::vector<uint64_t> of_entry_;  // numbers of the report's stacks; 0: none so far
};

ProtobufMessage value_type(Dictionary& dictionary, std::string_view type, std::string_view unit) {
  ProtobufMessage message;
  message.add(1, dictionary.text(std::string(type)));
  message.add(2, dictionary.text(std::string(unit)));
  return message;
}

// False: no samples.
bool add_profile(ProtobufMessage& scope, Dictionary& dictionary, const Type& type, const exports::Input& input,
                 const ProfileTime& time) {
  const exports::Metric& metric = exports::metric_of(type.metric);
  if (!exports::is_known(metric, input.report)) return false;
  ProtobufMessage profile;
  profile.add(kSampleType, value_type(dictionary, type.name, metric.bytes ? "bytes" : "count"));
  bool has_samples = false;
  for (size_t i = 0; i < input.report.stacks.size(); ++i) {
    const report::StackEntry& stack = input.report.stacks[i];
    const uint64_t value = metric.of(stack).counted();
    if (stack.is_apart() || value == 0) continue;
    ProtobufMessage sample;
    sample.add(kStack, dictionary.stack(i));
    sample.add_packed(kValues, std::span(&value, 1));
    profile.add(kSamples, sample);
    has_samples = true;
  }
  profile.add_fixed(kTime, time.unix_ns);
  if (type.is_sum) profile.add(kDuration, time.duration_ns);
  profile.add(kPeriodType, value_type(dictionary, "space", "bytes"));
  profile.add(kPeriod,
              std::max<uint64_t>(input.report.capture.sample_interval, 1));  // nothing is sampled: each byte counts
  if (has_samples) scope.add(2, profile);
  return has_samples;
}

// By the names of OpenTelemetry's conventions.
ProtobufMessage resource_of(const Labels& labels) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"service_name", "service.name"}, {"hostname", "host.name"}, {"pid", "process.pid"}};
  ProtobufMessage resource;
  for (const auto& [key, text] : labels) {
    const auto* const known = std::ranges::find(kNames, key, &std::pair<std::string_view, std::string_view>::first);
    ProtobufMessage value;
    const auto number = base::whole_number<uint32_t>(text);
    if (key == "pid" && number)
      value.add(3, uint64_t{*number});
    else
      value.add(1, std::string_view(text));
    ProtobufMessage attribute;
    attribute.add(1, known == std::end(kNames) ? std::string_view(key) : known->second);
    attribute.add(2, value);
    resource.add(1, attribute);
  }
  return resource;
}

}  // namespace

std::string make_otlp(const exports::Input& input, const Labels& labels, const ProfileTime& time) {
  Dictionary dictionary(input);
  ProtobufMessage name;
  name.add(1, std::string_view("heaptap"));
  ProtobufMessage scope;
  scope.add(1, name);
  bool has_samples = false;
  for (const Type& type : kTypes) has_samples = add_profile(scope, dictionary, type, input, time) || has_samples;
  if (!has_samples) return {};
  ProtobufMessage resource_profiles;
  resource_profiles.add(1, resource_of(labels));
  resource_profiles.add(2, scope);
  ProtobufMessage request;
  request.add(1, resource_profiles);
  request.add(2, dictionary.message());
  std::string bytes;
  const base::GzipWriter::Write write = [&bytes](std::string_view piece) { bytes += piece; };
  base::GzipWriter gzip(write);
  gzip.write(request.bytes());
  gzip.finish();
  return bytes;
}

std::string rejection_in(std::string_view answer) {
  constexpr uint64_t kPartialSuccess = 1 << 3 | 2;
  constexpr uint64_t kRejected = 1 << 3;
  constexpr uint64_t kMessage = 2 << 3 | 2;
  constexpr size_t kMaxMessageBytes = 200;
  wire::VarintReader reader(reinterpret_cast<const uint8_t*>(answer.data()), answer.size());
  if (reader.varint() != kPartialSuccess) return {};
  (void)reader.varint();  // its size: there is nothing behind it
  uint64_t rejected = 0;
  std::string_view text;
  while (reader.ok() && !reader.at_end()) {
    const uint64_t tag = reader.varint();
    const uint64_t value = reader.varint();
    if (tag == kRejected) rejected = value;
    if (tag != kMessage) continue;
    const uint64_t size = std::min<uint64_t>(value, reader.left());
    text = {reinterpret_cast<const char*>(reader.bytes(size)), size};
  }
  if (rejected == 0) return {};
  return base::make_error("it rejects profiles{}{}", text.empty() ? "" : ": ",
                          base::safe_text(text.substr(0, kMaxMessageBytes)))
      .message;
}

}  // namespace heaptap::push
