// The messages of a target's side that lies, as the host takes them: recordings that begin and end, streams, marks, scans.
//
// The first byte: 1: a sound recording begins before. Then messages: kind, number of fields, and of each which, how many bytes, and
// they; of every fourth field a number is made of them.
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "common/base/check.h"
#include "common/frames/capture_frames.h"
#include "common/line/line_messages.h"
#include "common/line/message_fields.h"
#include "common/message/common_messages.h"
#include "fuzz/support/byte_source.h"
#include "record/remote/remote_source.h"
#include "unit/support/two_ends.h"

namespace heaptap {
namespace {

using line::Field;
using line::Kind;
using message::Message;

Message sound_recording() {
  model::Capture capture;
  capture.command = {"program"};
  capture.pid = 1000;
  capture.time_resolution_ns = 1000;
  frames::ByteBuffer bytes;
  frames::write_capture_start(bytes, capture);
  Message message{.kind = Kind::kRecording, .number = 0, .fields = {}};
  message.fields.add(Field::kCapture, line::text_of(bytes));
  message.fields.add(Field::kStream, uint64_t{1});
  return message;
}

// One of the target's.
message::Number some_kind(uint8_t byte) {
  constexpr uint8_t kFirst = 80;
  constexpr uint8_t kKinds = 12;
  if (byte < 128) return message::Number(static_cast<uint8_t>(kFirst + byte % kKinds));
  if (byte < 192) return byte % 2 == 0 ? message::CommonKind::kAnswer : message::CommonKind::kRefusal;
  if (byte >= 240) return Kind::kResident;
  if (byte >= 224) return Kind::kCodeNames;
  return byte % 2 == 0 ? Kind::kRowsWanted : Kind::kFunctionsWanted;
}

Message some_message(fuzz::ByteSource& source) {
  const uint8_t kind = source.take<uint8_t>();
  Message message{.kind = some_kind(kind), .number = kind, .fields = {}};
  bool has_stream = false;
  for (uint8_t fields = source.take<uint8_t>() % 8; fields > 0; --fields) {
    const auto field = message::Number(source.take<uint8_t>());
    has_stream = has_stream || field == Field::kStream;
    if (fields % 4 == 0) {
      message.fields.add(field, source.take<uint64_t>());
    } else {
      const auto bytes = source.bytes(source.take<uint16_t>() % 2048);
      message.fields.add(field, line::text_of(bytes));
    }
  }
  if (!has_stream) message.fields.add(Field::kStream, uint64_t{1});
  return message;
}

}  // namespace
}  // namespace heaptap

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace heaptap;
  // One line for all inputs: what is left of one is taken before the next.
  static const test::OwnDirectory directory;
  static test::TwoEnds ends(directory.path());
  static uint64_t said = 0;
  static const bool has_met = ends.meet();
  HEAPTAP_CHECK(has_met);
  remote::RemoteSource source(ends.host, [](const line::LineNews& /*news*/) {});
  supervision::RecordedProcesses processes({.log = {.omitted_objects = {}},
                                            .clock = {},
                                            .output = directory.path() + "/trace",
                                            .overwrite = true,
                                            .numbers_files = false,
                                            .via = "",
                                            .command = {},
                                            .executable = "",
                                            .suppressions = {},
                                            .machine = std::nullopt},
                                           source.maker());
  source.serve(processes);
  const auto say = [](const message::Message& message) {
    ends.target.link().line().send(message);
    ++said;
  };
  fuzz::ByteSource bytes(data, size);
  if ((bytes.take<uint8_t>() & 1) != 0) say(sound_recording());
  while (!bytes.empty()) say(some_message(bytes));
  HEAPTAP_CHECK(ends.run_until([&] {
    source.take_news();
    return ends.host.link().line().received() == said;
  }));
  (void)processes.drain();
  while (!processes.empty()) processes.end(processes.all().front().pid, {});
  return 0;
}
