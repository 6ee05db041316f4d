// A target's side that lies: whatever it says, the host neither crashes nor hangs, nor keeps without bound what came.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "capture/stream/live_heap.h"
#include "capture/stream/raw_stream.h"
#include "capture/stream/scan_bytes.h"
#include "common/frames/capture_frames.h"
#include "common/frames/code_name_frames.h"
#include "common/frames/resident_frames.h"
#include "common/line/line_messages.h"
#include "common/line/message_fields.h"
#include "common/message/common_messages.h"
#include "common/model/note_code.h"
#include "message_lies.h"
#include "record/remote/remote_source.h"
#include "record/trace/trace_reader.h"
#include "rounds.h"
#include "two_ends.h"

namespace heaptap::remote {
namespace {

using line::Field;
using line::Kind;
using message::Message;

model::Capture some_capture(uint32_t pid) {
  model::Capture capture;
  capture.command = {"/bin/program", "word"};
  capture.executable = "/bin/program";
  capture.pid = pid;
  capture.time_resolution_ns = 1000;
  capture.via = "agent";
  return capture;
}

std::string start_of(const model::Capture& capture) {
  frames::ByteBuffer bytes;
  frames::write_capture_start(bytes, capture);
  return line::text_of(bytes);
}

Message recording(uint64_t stream, const model::Capture& capture) {
  Message message{.kind = Kind::kRecording, .number = 0, .fields = {}};
  message.fields.add(Field::kCapture, start_of(capture));
  message.fields.add(Field::kStream, stream);
  return message;
}

Message of_stream(message::Number kind, uint64_t stream) {
  Message message{.kind = kind, .number = 0, .fields = {}};
  message.fields.add(Field::kStream, stream);
  return message;
}

Message stream_bytes(uint64_t stream, std::string_view bytes) {
  Message message = of_stream(Kind::kBytes, stream);
  message.fields.add(Field::kBytes, bytes);
  return message;
}

Message code_names(uint64_t stream, const std::vector<model::CodeName>& names) {
  Message message = of_stream(Kind::kCodeNames, stream);
  frames::ByteBuffer bytes;
  frames::write_code_names(bytes, names);
  message.fields.add(Field::kBytes, line::text_of(bytes));
  return message;
}

Message resident(uint64_t stream, const std::vector<model::ResidentSample>& samples) {
  Message message = of_stream(Kind::kResident, stream);
  frames::ByteBuffer bytes;
  frames::write_resident(bytes, samples);
  message.fields.add(Field::kBytes, line::text_of(bytes));
  return message;
}

// Stacks of one frame each.
class MadeTables : public stream::AgentTables {
 public:
  explicit MadeTables(uint32_t codes = 20) : codes_(codes) {}
  [[nodiscard]] uint32_t node_count() const override { return wire::kRootCount + codes_; }
  [[nodiscard]] uint64_t node(uint32_t number) const override { return wire::make_node(0, number - wire::kRootCount); }
  [[nodiscard]] uint32_t code_count() const override { return codes_; }
  [[nodiscard]] uint64_t code(uint32_t index) const override { return 0x1000 + index; }
  [[nodiscard]] std::optional<model::Label> label(uint32_t /*number*/) const override { return std::nullopt; }

 private:
  const uint32_t codes_;
};

class NoSink : public model::EventSink {
 public:
  void on_batch(const model::EventBatch& /*batch*/, const model::Tables& /*tables*/) override {}
};

// By codes of the trace.
std::map<model::CodeId, std::string> names_in(trace::TraceReader& trace) {
  NoSink sink;
  EXPECT_TRUE(trace.replay(sink));
  const model::Tables& tables = trace.tables();
  std::map<model::CodeId, std::string> names;
  for (model::CodeId code = 0; tables.names != nullptr && code < tables.codes.size(); ++code) {
    for (const model::Frame& frame : tables.names->frames_of(code)) names[code] = frame.function;
  }
  return names;
}

// What a target's side says that doesn't lie: a process that allocates, is scanned, and ends.
class Honest {
 public:
  std::vector<Message> session(uint64_t stream, uint32_t pid) {
    std::vector<Message> said;
    said.push_back(recording(stream, some_capture(pid)));
    stream::RawStreamWriter writer(tables_);
    writer.add_modules({{.path = "/lib/libx.so", .build_id = "id"}});
    for (uint64_t drain = 1; drain <= 4; ++drain) {
      add_drain(writer, drain);
      said.push_back(stream_bytes(stream, line::text_of(writer.take())));
    }
    said.push_back(of_stream(Kind::kMarked, stream));
    said.back().fields.add(Field::kMarkKind, uint64_t{1});
    said.back().fields.add(Field::kName, "mark");
    said.back().fields.add(Field::kTimeNs, uint64_t{5000});
    said.push_back(of_stream(Kind::kFiguresNow, stream));
    for (const Field field : {Field::kTimeNs, Field::kLostEvents, Field::kLogUsedBytes, Field::kLogLimitBytes}) {
      said.back().fields.add(field, uint64_t{1000});
    }
    said.push_back(code_names(stream, {{0, "made"}, {19, "made as well"}}));
    said.push_back(of_stream(Kind::kBlocksWanted, stream));
    said.push_back(scanned(stream));
    said.push_back(of_stream(Kind::kEnded, stream));
    frames::ByteBuffer end;
    model::Capture capture = some_capture(pid);
    capture.ended = true;
    capture.event_count = 400;
    capture.notes.push_back(model::failure_note("a note"));
    frames::write_capture_end(end, capture);
    said.back().fields.add(Field::kCapture, line::text_of(end));
    said.back().fields.add(Field::kNotesBefore, uint64_t{1});
    said.push_back(of_stream(Kind::kDropped, stream));
    said.push_back({.kind = Kind::kNotRecorded, .number = 0, .fields = {}});
    said.back().fields.add(Field::kPid, uint64_t{pid});
    said.back().fields.add(Field::kText, "can't be recorded");
    said.push_back({.kind = message::CommonKind::kAnswer, .number = 7, .fields = {}});
    said.push_back({.kind = message::CommonKind::kRefusal, .number = 8, .fields = {}});
    said.back().fields.add(Field::kText, "no");
    said.back().fields.add(message::CommonField::kErrorKind, uint64_t{1});
    return said;
  }

 private:
  void add_drain(stream::RawStreamWriter& writer, uint64_t drain) {
    log::RawEvents events;
    for (uint32_t i = 0; i < 100; ++i) {
      events.push_back(
          {.time = drain * 1000 + i,
           .tagged_address = wire::make_tagged_address(wire::RecordKind::kAllocate, 1, drain << 20 | i << 6),
           .size_bytes = i,
           .stack = wire::kRootCount + i % 20,
           .thread = 1});
      blocks_.push_back({.address = drain << 20 | i << 6, .size_bytes = i, .number = 0, .site = 0, .type = 0});
    }
    writer.add_drain(events, 3200, {.complete_until = drain * 1000 + 100}, [](uint32_t) { return std::string(); });
  }
  Message scanned(uint64_t stream) {
    Message message = of_stream(Kind::kScanned, stream);
    stream::ScanAnswer answer;
    answer.findings.patterns.resize(blocks_.size());
    message.fields.add(Field::kBytes, line::text_of(stream::write_scan_answer(answer)));
    message.fields.add(Field::kMore, false);
    message.fields.add(Field::kChecksum, stream::fingerprint(blocks_, {}));
    for (const Field field :
         {Field::kTimeNs, Field::kStoppedNs, Field::kReadBytes, Field::kSkippedBytes, Field::kThreads}) {
      message.fields.add(field, uint64_t{100});
    }
    message.fields.add(Field::kReason, true);
    message.fields.add(Field::kNote, model::encode(model::failure_note("a note")));
    blocks_.clear();
    return message;
  }

  MadeTables tables_;
  std::vector<model::ScannedBlock> blocks_;
};

// A host that records whatever the target's side says.
supervision::RecordingOptions recording_options(std::string output, bool overwrite) {
  return {.log = {},
          .clock = {},
          .output = std::move(output),
          .overwrite = overwrite,
          .numbers_files = false,
          .via = "",
          .command = {},
          .executable = "",
          .suppressions = {},
          .machine = std::nullopt};
}

class Host {
 public:
  explicit Host(const std::string& directory)
      : ends(directory),
        source(ends.host, [this](const line::LineNews& line) { news.push_back(line); }),
        processes(recording_options(directory + "/%p.htap", true), source.maker()) {
    source.serve(processes);
  }
  bool meet() { return ends.meet(); }
  void say(const Message& message) {
    ends.target.link().line().send(message);
    ++said;
  }
  // Until the host has taken all that was said.
  bool take_all() {
    return ends.run_until([this] {
      source.take_news();
      return ends.host.link().line().received() == said;
    });
  }
  // As when the line is over.
  void end_all() {
    std::vector<pid_t> pids;
    for (const supervision::RecordedProcess& process : processes.all()) pids.push_back(process.pid);
    for (const pid_t pid : pids) processes.end(pid, {});
  }

  test::TwoEnds ends;
  uint64_t said = 0;
  std::vector<line::LineNews> news;
  RemoteSource source;
  supervision::RecordedProcesses processes;
};

class LyingTarget : public ::testing::Test {
 protected:
  std::unique_ptr<Host> host() {
    auto made = std::make_unique<Host>(directory_.path());
    EXPECT_TRUE(made->meet());
    return made;
  }
  [[nodiscard]] size_t files() const {
    const auto entries = std::filesystem::directory_iterator(directory_.path());
    return static_cast<size_t>(
        std::ranges::count_if(entries, [](const auto& entry) { return entry.path().extension() == ".htap"; }));
  }

  test::OwnDirectory directory_;
};

// So that what is refused below is refused for what it says.
TEST_F(LyingTarget, ThatDoesNotLieIsRecorded) {
  const auto host = this->host();
  std::vector<Message> said = Honest().session(1, 1000);
  said.resize(10);  // up to the end of the recording
  for (const Message& message : said) host->say(message);
  ASSERT_TRUE(host->take_all());
  ASSERT_EQ(host->processes.all().size(), 1u);
  const supervision::RecordedProcess& recorded = host->processes.all().front();
  EXPECT_EQ(recorded.recording->figures().scans, 1u) << recorded.recording->capture().notes.size();
  EXPECT_EQ(recorded.trace_half->marks().size(), 1u);
  host->end_all();
  EXPECT_EQ(files(), 1u);
}

TEST_F(LyingTarget, DoesNoHarmByAnyMessage) {
  const int messages = test::rounds(20'000, 100'000);
  constexpr int kOfOneHost = 200;
  test::MessageLies lies(17);
  Honest honest;
  std::unique_ptr<Host> host;
  std::vector<Message> session;
  size_t at = 0;
  size_t recorded = 0;
  for (int said = 0; said < messages; ++said, ++at) {
    if (said % kOfOneHost == 0) {
      if (host) host->end_all();
      host.reset();
      host = this->host();
      at = session.size();
    }
    if (at >= session.size()) {
      session = honest.session(1 + lies.pick(3), 1000 + lies.pick(3));
      at = 0;
    }
    // In order, and in any order.
    const Message& sound = session[lies.pick(3) != 0 ? at : lies.pick(session.size())];
    host->say(at == 0 && lies.pick(2) == 0 ? sound : lies.of(sound));
    const bool is_taken = lies.pick(50) != 0 || host->take_all();
    ASSERT_TRUE(is_taken);
    ASSERT_LE(host->processes.all().size(), 100u);
    recorded += host->processes.all().size();
  }
  // What was said was about something.
  EXPECT_GT(recorded, static_cast<size_t>(messages) / 2);
  ASSERT_TRUE(host->take_all());
  host->end_all();
}

TEST_F(LyingTarget, WithoutAResolutionOfTimesIsNotRecorded) {
  for (const uint64_t resolution : {uint64_t{0}, uint64_t{2'000'000'000}, UINT64_MAX}) {
    const auto host = this->host();
    model::Capture capture = some_capture(1000);
    capture.time_resolution_ns = resolution;
    host->say(recording(1, capture));
    ASSERT_TRUE(host->take_all());
    EXPECT_TRUE(host->processes.empty()) << resolution;
  }
}

TEST_F(LyingTarget, CannotTakeAnotherStreamsPlace) {
  const auto host = this->host();
  host->say(recording(1, some_capture(1000)));
  host->say(recording(1, some_capture(1001)));
  host->say(recording(2, some_capture(1000)));
  ASSERT_TRUE(host->take_all());
  ASSERT_EQ(host->processes.all().size(), 1u);
  EXPECT_EQ(host->processes.all().front().pid, 1000);
}

TEST_F(LyingTarget, CannotMakeProcessesWithoutEnd) {
  const auto host = this->host();
  for (uint32_t i = 0; i < 2000; ++i) host->say(recording(i, some_capture(1000 + i)));
  ASSERT_TRUE(host->take_all());
  EXPECT_LE(host->processes.all().size(), 1000u);
  EXPECT_LE(files(), 1000u);
  EXPECT_TRUE(host->source.has_failed());
}

TEST_F(LyingTarget, ThatAsksAndDoesNotListenIsNotAnsweredWithoutEnd) {
  const auto host = this->host();
  const std::vector<Message> session = Honest().session(1, 1000);
  for (size_t i = 0; i < 5; ++i) host->say(session[i]);
  ASSERT_TRUE(host->take_all());
  line::ReliableLine& line = host->ends.host.link().line();
  // It is handed to the host's end, and the target's hears nothing of what that says.
  for (int i = 0; i < 20'000; ++i) host->say(of_stream(Kind::kBlocksWanted, 1));
  for (int i = 0; i < 5000; ++i) {
    host->ends.target.link().proceed(std::chrono::steady_clock::now());
    while (host->ends.target.next()) {
    }
    host->source.take_news();
    ASSERT_LE(line.kept_bytes(), size_t{4} << 20);
  }
}

// All events behind an allocation wait for the release of what is alive there, as long as one may still come.
TEST_F(LyingTarget, CannotHoldEventsBackWithoutEnd) {
  constexpr size_t kEvents = size_t{5} << 20;
  const auto host = this->host();
  host->say(recording(1, some_capture(1000)));
  const MadeTables tables;
  stream::RawStreamWriter writer(tables);
  const auto event = [](wire::RecordKind kind) {
    return wire::RawEvent{.time = 1000,
                          .tagged_address = wire::make_tagged_address(kind, 1, 0x10000),
                          .size_bytes = kind == wire::RecordKind::kAllocate ? 16u : 0u,
                          .stack = wire::kRootCount,
                          .thread = 1};
  };
  log::RawEvents events = {event(wire::RecordKind::kAllocate)};
  for (size_t sent = 0; sent < kEvents; sent += events.size()) {
    writer.add_drain(events, 1, {.complete_until = 0}, [](uint32_t) { return std::string(); });
    host->say(stream_bytes(1, line::text_of(writer.take())));
    ASSERT_TRUE(host->take_all());
    (void)host->processes.drain();
    if (events.size() == 1) {
      for (int i = 0; i < 32'000; ++i) {
        events.push_back(event(wire::RecordKind::kAllocate));
        events.push_back(event(wire::RecordKind::kRelease));
      }
    }
  }
  EXPECT_GT(host->processes.all().front().recording->figures().events, size_t{1} << 19);
  host->end_all();
}

TEST_F(LyingTarget, CannotAnswerWhatNobodyAsked) {
  const auto host = this->host();
  for (uint64_t i = 0; i < 100; ++i) host->say({.kind = message::CommonKind::kAnswer, .number = i, .fields = {}});
  ASSERT_TRUE(host->take_all());
  Message refusal{.kind = message::CommonKind::kRefusal, .number = 1, .fields = {}};
  refusal.fields.add(Field::kText, "no: \x1b[31m");
  host->say(refusal);
  host->ends.proceed();
  line::RecordOrder order;
  order.command = {"/bin/true"};
  const auto begun = host->source.begin(order);
  ASSERT_FALSE(begun.has_value());
  EXPECT_EQ(begun.error().message, "no: \\x1b[31m");
}

TEST_F(LyingTarget, SaysNothingToATerminal) {
  const auto host = this->host();
  Message message{.kind = Kind::kNotRecorded, .number = 0, .fields = {}};
  message.fields.add(Field::kText, "\x1b]0;title\x07");
  host->say(message);
  ASSERT_TRUE(host->take_all());
  ASSERT_FALSE(host->news.empty());
  EXPECT_EQ(host->news.back().text, "\\x1b]0;title\\x07");
}

TEST_F(LyingTarget, ChangesNothingOfWhoseRecordingItIs) {
  const auto host = this->host();
  host->say(recording(1, some_capture(1000)));
  Message ended = of_stream(Kind::kEnded, 1);
  model::Capture other = some_capture(4711);
  other.suppressions = {{"file", "leak:all"}};
  other.command = {"/bin/other"};
  frames::ByteBuffer bytes;
  frames::write_capture_start(bytes, other);
  frames::write_capture_end(bytes, other);
  ended.fields.add(Field::kCapture, line::text_of(bytes));
  host->say(ended);
  ASSERT_TRUE(host->take_all());
  ASSERT_EQ(host->processes.all().size(), 1u);
  const model::Capture& capture = host->processes.all().front().recording->capture();
  EXPECT_EQ(capture.pid, 1000u);
  EXPECT_EQ(capture.command, some_capture(1000).command);
  EXPECT_TRUE(capture.suppressions.empty());
}

TEST_F(LyingTarget, SendsNoResidentMemoryThatMakesNoSense) {
  const auto host = this->host();
  const auto sample = [](uint64_t time_ns, uint64_t bytes) {
    return model::ResidentSample{.time_ns = time_ns, .anonymous_bytes = bytes};
  };
  std::vector<Message> said = {recording(1, some_capture(1000)), resident(1, {sample(5, 4096)})};
  said.push_back(of_stream(Kind::kResident, 1));
  said.back().fields.add(Field::kBytes, "\x05\x01");
  said.push_back(of_stream(Kind::kResident, 1));
  said.push_back(resident(7, {sample(6, 1024)}));
  said.push_back(resident(1, {sample(4, 2048), sample(9, 8192)}));  // the first one is earlier than what is known
  for (const Message& message : said) host->say(message);
  ASSERT_TRUE(host->take_all());
  const std::string path = host->processes.all().front().trace_half->path();
  host->end_all();
  auto trace = trace::TraceReader::open(path);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->resident(), (std::vector{sample(5, 4096), sample(9, 8192)}));
}

// Codes that it has told of have one name each.
TEST_F(LyingTarget, NamesNothingThatIsNotThere) {
  const auto host = this->host();
  std::vector<Message> said = Honest().session(1, 1000);
  said.resize(5);  // up to the events
  said.push_back(code_names(1, {{0, "first"}, {0, "another"}, {1, "behind a lie"}}));
  said.push_back(code_names(1, {{20, "beyond"}, {2, "behind a lie"}}));
  said.push_back(code_names(1, {{UINT32_MAX, "beyond"}}));
  said.push_back(code_names(1, {{3, ""}, {3, "behind a lie"}}));
  said.push_back(of_stream(Kind::kCodeNames, 1));
  said.back().fields.add(Field::kBytes, "\x05\x01");
  said.push_back(of_stream(Kind::kCodeNames, 1));
  said.push_back(code_names(7, {{4, "of another stream"}}));
  said.push_back(code_names(1, {{5, std::string(2000, 'n')}}));
  said.push_back(code_names(1, {{6, "last"}}));
  for (const Message& message : said) host->say(message);
  ASSERT_TRUE(host->take_all());
  const std::string path = host->processes.all().front().trace_half->path();
  host->end_all();
  auto trace = trace::TraceReader::open(path);
  ASSERT_TRUE(trace) << trace.error().message;
  const auto names = names_in(*trace);
  EXPECT_EQ(names, (std::map<model::CodeId, std::string>{{0, "first"}, {6, "last"}}));
}

// More than readers take is left out, so that they can read the rest.
TEST_F(LyingTarget, CannotNameWithoutEnd) {
  constexpr uint32_t kCodes = 70'000;
  const auto host = this->host();
  host->say(recording(1, some_capture(1000)));
  const MadeTables tables(kCodes);
  stream::RawStreamWriter writer(tables);
  log::RawEvents events;
  for (uint32_t i = 0; i < kCodes; ++i) {
    events.push_back({.time = 1000 + i,
                      .tagged_address = wire::make_tagged_address(wire::RecordKind::kAllocate, 1, uint64_t{i} << 6),
                      .size_bytes = 8,
                      .stack = wire::kRootCount + i,
                      .thread = 1});
  }
  writer.add_drain(events, 1, {.complete_until = 1'000'000}, [](uint32_t) { return std::string(); });
  const std::vector<uint8_t> bytes = writer.take();
  for (size_t at = 0; at < bytes.size(); at += 100'000) {
    const auto piece = std::span(bytes).subspan(at, std::min<size_t>(100'000, bytes.size() - at));
    host->say(stream_bytes(1, line::text_of(piece)));
  }
  for (uint32_t i = 0; i < kCodes; i += 500) {
    std::vector<model::CodeName> names;
    for (uint32_t k = i; k < i + 500; ++k) names.push_back({k, std::string(model::kMaxCodeNameBytes, 'n')});
    host->say(code_names(1, names));
    const bool is_taken = i % 5000 != 0 || host->take_all();
    ASSERT_TRUE(is_taken);
  }
  ASSERT_TRUE(host->take_all());
  const std::string path = host->processes.all().front().trace_half->path();
  host->end_all();
  auto trace = trace::TraceReader::open(path);
  ASSERT_TRUE(trace) << trace.error().message;
  const size_t named = names_in(*trace).size();
  EXPECT_LE(named, (size_t{64} << 20) / model::kMaxCodeNameBytes);
  EXPECT_GT(named, 60'000U);
  EXPECT_EQ(trace->capture().damage.find("sense"), std::string::npos) << trace->capture().damage;
}

TEST_F(LyingTarget, WritesWhereTheHostWantsIt) {
  // By default a trace has the program's name, in the directory where the host is.
  const std::string inner = directory_.path() + "/inner";
  std::filesystem::create_directory(inner);
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(inner);
  {
    Host host(directory_.path());
    supervision::RecordedProcesses processes(recording_options("", false), host.source.maker());
    host.source.serve(processes);
    ASSERT_TRUE(host.meet());
    uint32_t pid = 1000;
    for (const char* const name : {"../../evil", "/etc/evil", "..", "", "a\nb\x1b[1m", "evil/"}) {
      model::Capture capture = some_capture(pid);
      capture.command = {name};
      capture.executable = name;
      host.say(recording(pid++, capture));
    }
    ASSERT_TRUE(host.take_all());
    EXPECT_EQ(processes.all().size(), 6u);
    for (const supervision::RecordedProcess& process : processes.all()) {
      EXPECT_EQ(process.trace_half->path().find('/'), std::string::npos) << process.trace_half->path();
      EXPECT_EQ(process.trace_half->path().find('\x1b'), std::string::npos);
    }
  }
  std::filesystem::current_path(before);
}

}  // namespace
}  // namespace heaptap::remote
