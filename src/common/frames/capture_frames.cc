#include "common/frames/capture_frames.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "common/base/byte_span.h"
#include "common/model/note_code.h"
#include "common/wire/sampling.h"

namespace heaptap::frames {
namespace {

enum class Field : uint64_t {
  kArgument = 1,  // one field each, in order
  kExecutable = 2,
  kPid = 3,
  kParentPid = 4,
  kHostName = 5,
  kArchitecture = 6,
  kWordBytes = 7,
  kPageBytes = 8,
  kBigEndian = 9,
  kVia = 10,
  kStartUnixNs = 11,
  kTimeResolutionNs = 12,
  kFromStart = 13,
  kHeaptapVersion = 14,
  kSuppressionFile = 15,  // followed by its text
  kSuppressionText = 16,
  kElfMachine = 17,
  kRecorderArchitecture = 18,
  kRecorderElfMachine = 19,
  kRecorderWordBytes = 20,
  kRecorderPageBytes = 21,
  kRecorderBigEndian = 22,
  kTicksPerSecond = 23,  // at the end
  kSampleInterval = 24,  // since 2.16

  kEnded = 32,
  kExitCode = 33,
  kExitSignal = 34,
  kDurationNs = 35,
  kEventCount = 36,
  kLostEvents = 37,
  kSentence = 38,  // one each; instead of notes before 2.4
  kCollectorCpuNs = 39,
  kCollectorPeakRssBytes = 40,
  kLogBytesUsed = 41,
  kGaps = 42,
  kNote = 43,  // one each
  kExecuted = 48,
  kDetached = 49,
  kPausedByTracerNs = 50,  // since 2.11
  kCrashStack = 51,        // since 2.13
  kCrashThread = 52,       // since 2.13; follows kCrashStack
  kThreadCalls = 53,       // since 2.16: one each; numbers of model::ThreadCalls
};

void put(ByteBuffer& out, Field field, std::string_view text) {
  out.varint(static_cast<uint64_t>(field));
  out.text(text);
}

void put(ByteBuffer& out, Field field, uint64_t number) {
  uint8_t bytes[wire::kMaxVarintBytes];
  const auto count = static_cast<size_t>(wire::write_varint(bytes, number) - bytes);
  put(out, field, std::string_view(reinterpret_cast<const char*>(bytes), count));
}

void take_number(Field field, uint64_t number, model::Capture& capture) {
  switch (field) {
    case Field::kPid:
      capture.pid = static_cast<uint32_t>(number);
      break;
    case Field::kParentPid:
      capture.parent_pid = static_cast<uint32_t>(number);
      break;
    case Field::kWordBytes:
      capture.word_bytes = static_cast<uint32_t>(number);
      break;
    case Field::kPageBytes:
      capture.page_bytes = static_cast<uint32_t>(number);
      break;
    case Field::kBigEndian:
      capture.big_endian = number != 0;
      break;
    case Field::kElfMachine:
      capture.elf_machine = static_cast<uint32_t>(number);
      break;
    case Field::kRecorderElfMachine:
      capture.recorder.elf_machine = static_cast<uint32_t>(number);
      break;
    case Field::kRecorderWordBytes:
      capture.recorder.word_bytes = static_cast<uint32_t>(number);
      break;
    case Field::kRecorderPageBytes:
      capture.recorder.page_bytes = static_cast<uint32_t>(number);
      break;
    case Field::kRecorderBigEndian:
      capture.recorder.big_endian = number != 0;
      break;
    case Field::kTicksPerSecond:
      capture.ticks_per_second = number;
      break;
    case Field::kStartUnixNs:
      capture.start_unix_ns = number;
      break;
    case Field::kTimeResolutionNs:
      capture.time_resolution_ns = number;
      break;
    case Field::kFromStart:
      capture.from_start = number != 0;
      break;
    case Field::kSampleInterval:
      capture.sample_interval = std::min(number, wire::kMaxSampleInterval);
      break;
    case Field::kEnded:
      capture.ended = number != 0;
      break;
    case Field::kDetached:
      capture.detached = number != 0;
      break;
    case Field::kExecuted:
      capture.executed = number != 0;
      break;
    case Field::kExitCode:
      capture.exit.code = static_cast<int>(number);
      break;
    case Field::kExitSignal:
      capture.exit.signal = static_cast<int>(number);
      break;
    case Field::kCrashStack:
      capture.crash = {.stack = static_cast<model::StackId>(number), .thread = 0};
      break;
    case Field::kCrashThread:
      if (capture.crash) capture.crash->thread = static_cast<model::ThreadId>(number);
      break;
    case Field::kDurationNs:
      capture.duration_ns = number;
      break;
    case Field::kEventCount:
      capture.event_count = number;
      break;
    case Field::kLostEvents:
      capture.lost_events = number;
      break;
    case Field::kCollectorCpuNs:
      capture.collector_cpu_ns = number;
      break;
    case Field::kCollectorPeakRssBytes:
      capture.collector_peak_rss_bytes = number;
      break;
    case Field::kLogBytesUsed:
      capture.log_bytes_used = number;
      break;
    case Field::kPausedByTracerNs:
      capture.paused_by_tracer_ns = number;
      break;
    case Field::kGaps:
      capture.gaps = static_cast<uint32_t>(number);
      break;
    default:
      break;
  }
}

void take_calls(std::string_view text, model::Capture& capture) {
  wire::VarintReader in(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  model::ThreadCalls calls{.thread = static_cast<model::ThreadId>(in.varint())};
  for (uint64_t* const number : {&calls.allocations, &calls.allocated_bytes, &calls.releases}) *number = in.varint();
  if (in.ok()) capture.calls.push_back(calls);
}

void put_calls(ByteBuffer& out, const model::ThreadCalls& calls) {
  ByteBuffer numbers;
  for (const uint64_t number : {uint64_t{calls.thread}, calls.allocations, calls.allocated_bytes, calls.releases}) {
    numbers.varint(number);
  }
  put(out, Field::kThreadCalls, base::text_of({numbers.data(), numbers.size()}));
}

void take(Field field, std::string_view text, model::Capture& capture) {
  switch (field) {
    case Field::kArgument:
      capture.command.emplace_back(text);
      break;
    case Field::kExecutable:
      capture.executable = text;
      break;
    case Field::kHostName:
      capture.host_name = text;
      break;
    case Field::kArchitecture:
      capture.architecture = text;
      break;
    case Field::kRecorderArchitecture:
      capture.recorder.architecture = text;
      break;
    case Field::kVia:
      capture.via = text;
      break;
    case Field::kHeaptapVersion:
      capture.heaptap_version = text;
      break;
    case Field::kSuppressionFile:
      capture.suppressions.push_back({std::string(text), ""});
      break;
    case Field::kSuppressionText:
      if (!capture.suppressions.empty()) capture.suppressions.back().text = text;
      break;
    case Field::kSentence:
      capture.notes.push_back({.kind = model::NoteKind::kText, .name = std::string(text)});
      break;
    case Field::kNote:
      capture.notes.push_back(model::decode_note(text).value_or(model::Note{model::NoteKind::kUnreadableNote}));
      break;
    case Field::kThreadCalls:
      take_calls(text, capture);
      break;
    default:
      wire::VarintReader number(reinterpret_cast<const uint8_t*>(text.data()), text.size());
      take_number(field, number.varint(), capture);
      break;
  }
}

// Bounds the fields that may be repeated: a small file may repeat them often.
class CaptureRoom {
 public:
  explicit CaptureRoom(model::Capture& capture) : capture_(capture) {
    for (const std::string& argument : capture.command) argument_bytes_ += argument.size();
    for (const model::SuppressionText& each : capture.suppressions) {
      suppression_bytes_ += each.file.size() + each.text.size();
    }
  }

  bool takes(Field field, uint64_t bytes) {
    switch (field) {
      case Field::kSentence:
      case Field::kNote:
        return capture_.notes.size() < kMaxNotes;
      case Field::kThreadCalls:
        return capture_.calls.size() < model::kMaxThreadCalls;
      case Field::kArgument:
        return fits(capture_.command.size() < kMaxArguments, bytes, argument_bytes_, model::NoteKind::kCommandCut);
      case Field::kSuppressionFile:
        in_file_ = fits(capture_.suppressions.size() < kMaxSuppressions, bytes, suppression_bytes_,
                        model::NoteKind::kSuppressionsCut);
        return in_file_;
      case Field::kSuppressionText:
        if (!std::exchange(in_file_, false)) return false;
        return fits(true, bytes, suppression_bytes_, model::NoteKind::kSuppressionsCut);
      default:
        return true;
    }
  }

 private:
  static constexpr size_t kMaxNotes = 1000;
  static constexpr size_t kMaxArguments = 65'536;
  static constexpr size_t kMaxSuppressions = 1000;
  static constexpr uint64_t kMaxBytes = uint64_t{16} << 20;

  bool fits(bool is_so, uint64_t bytes, uint64_t& taken, model::NoteKind otherwise) {
    if (is_so && taken <= kMaxBytes && bytes <= kMaxBytes - taken) {
      taken += bytes;
      return true;
    }
    if (!model::has_note(capture_.notes, otherwise) && capture_.notes.size() < kMaxNotes)
      capture_.notes.push_back({otherwise});
    return false;
  }

  model::Capture& capture_;
  uint64_t argument_bytes_ = 0;
  uint64_t suppression_bytes_ = 0;
  bool in_file_ = false;  // its text comes next
};

}  // namespace

void write_capture_start(ByteBuffer& out, const model::Capture& capture) {
  for (const std::string& argument : capture.command) put(out, Field::kArgument, argument);
  put(out, Field::kExecutable, capture.executable);
  put(out, Field::kPid, capture.pid);
  put(out, Field::kParentPid, capture.parent_pid);
  put(out, Field::kHostName, capture.host_name);
  put(out, Field::kArchitecture, capture.architecture);
  put(out, Field::kWordBytes, capture.word_bytes);
  put(out, Field::kPageBytes, capture.page_bytes);
  put(out, Field::kBigEndian, capture.big_endian ? 1 : 0);
  put(out, Field::kElfMachine, capture.elf_machine);
  put(out, Field::kRecorderArchitecture, capture.recorder.architecture);
  put(out, Field::kRecorderElfMachine, capture.recorder.elf_machine);
  put(out, Field::kRecorderWordBytes, capture.recorder.word_bytes);
  put(out, Field::kRecorderPageBytes, capture.recorder.page_bytes);
  put(out, Field::kRecorderBigEndian, capture.recorder.big_endian ? 1 : 0);
  put(out, Field::kVia, capture.via);
  put(out, Field::kStartUnixNs, capture.start_unix_ns);
  put(out, Field::kTimeResolutionNs, capture.time_resolution_ns);
  put(out, Field::kFromStart, capture.from_start ? 1 : 0);
  if (capture.sample_interval != 0) put(out, Field::kSampleInterval, capture.sample_interval);
  put(out, Field::kHeaptapVersion, capture.heaptap_version);
  for (const model::SuppressionText& each : capture.suppressions) {
    put(out, Field::kSuppressionFile, each.file);
    put(out, Field::kSuppressionText, each.text);
  }
}

void write_capture_end(ByteBuffer& out, const model::Capture& capture) {
  put(out, Field::kEnded, capture.ended ? 1 : 0);
  if (capture.detached) put(out, Field::kDetached, 1);
  if (capture.executed) put(out, Field::kExecuted, 1);
  if (capture.exit.code) put(out, Field::kExitCode, static_cast<uint64_t>(*capture.exit.code));
  if (capture.exit.signal) put(out, Field::kExitSignal, static_cast<uint64_t>(*capture.exit.signal));
  if (capture.crash) {
    put(out, Field::kCrashStack, capture.crash->stack);
    put(out, Field::kCrashThread, capture.crash->thread);
  }
  put(out, Field::kDurationNs, capture.duration_ns);
  put(out, Field::kTicksPerSecond, capture.ticks_per_second);
  put(out, Field::kEventCount, capture.event_count);
  put(out, Field::kLostEvents, capture.lost_events);
  for (const model::Note& note : capture.notes) put(out, Field::kNote, model::encode(note));
  put(out, Field::kCollectorCpuNs, capture.collector_cpu_ns);
  put(out, Field::kCollectorPeakRssBytes, capture.collector_peak_rss_bytes);
  put(out, Field::kLogBytesUsed, capture.log_bytes_used);
  if (capture.gaps != 0) put(out, Field::kGaps, capture.gaps);
  if (capture.paused_by_tracer_ns) put(out, Field::kPausedByTracerNs, *capture.paused_by_tracer_ns);
  for (const model::ThreadCalls& calls : capture.calls) put_calls(out, calls);
}

bool read_capture(wire::VarintReader& in, model::Capture& capture) {
  CaptureRoom room(capture);
  while (!in.at_end()) {
    const auto field = static_cast<Field>(in.varint());
    const std::span<const uint8_t> bytes = in.sized_bytes();
    if (!in.ok()) return false;
    if (room.takes(field, bytes.size())) take(field, base::text_of(bytes), capture);
  }
  return true;
}

}  // namespace heaptap::frames
