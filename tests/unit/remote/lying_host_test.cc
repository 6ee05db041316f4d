// A host that lies: whatever it says, the target's side neither crashes nor hangs, nor keeps without bound what came, nor does to a
// process what wasn't asked of it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "capture/stream/scan_bytes.h"
#include "capture/uplink/forwarded_recording.h"
#include "capture/uplink/host_service.h"
#include "common/control/control_messages.h"
#include "common/line/line_messages.h"
#include "common/line/message_fields.h"
#include "common/line/record_order.h"
#include "message_lies.h"
#include "own_module.h"
#include "rounds.h"
#include "two_ends.h"

namespace heaptap::remote {
namespace {

using line::Field;
using line::Kind;
using message::Message;

constexpr pid_t kNoProcess = 0x7fff'fff0;     // that there never is
constexpr const char* kBuildId = "build-id";  // of an object whose rows were asked for

// Does nothing, and remembers what of.
class Source : public supervision::RecordingSource {
 public:
  void add_waits(std::vector<pollfd>& /*waits*/) const override {}
  void take_news() override {}
  [[nodiscard]] bool is_settled() const override { return true; }
  bool expects_more() override { return false; }
  void accept_no_more() override {}
  base::Result<uint32_t> scan(supervision::RecordedProcess& process) override {
    return process.log_half->scan({.stop = [] { return base::Result<process::StoppedProcess>(base::fail("no")); },
                                   .finish_exit = [] { return false; }},
                                  std::nullopt);
  }
  bool has_left(const supervision::RecordedProcess& /*process*/) override { return false; }
  void detach(supervision::RecordedProcess& process) override { detached.insert(process.pid); }
  std::set<pid_t> detached;
};

// A target's side that records two processes, and does what its host wants.
class Target {
 public:
  explicit Target(const std::string& directory)
      : ends(directory),
        processes({.log = {.omitted_objects = {}},
                   .clock = {},
                   .output = "",
                   .overwrite = false,
                   .numbers_files = false,
                   .via = "agent",
                   .command = {"/bin/program"},
                   .executable = "",
                   .suppressions = {},
                   .machine = std::nullopt},
                  [this](const log::LogOptions& log, const model::Capture& capture, const std::string&, bool) {
                    auto made = uplink::ForwardedRecording::create(ends.target, ++streams, log, capture,
                                                                   {.host = &ends.target});
                    if (made) (*made)->list_in(recordings);
                    return made;
                  }),
        service(ends.target, processes, recordings, source, std::chrono::seconds(60)) {
    for (const pid_t pid : {kNoProcess, kNoProcess + 1}) {
      model::Capture capture;
      capture.pid = static_cast<uint32_t>(pid);
      capture.via = "agent";
      processes.begin(capture, false);
    }
    // A file may be asked for, and rows of an object were.
    const model::Module module = test::own_program();
    ends.target.files().begin(true, true);
    ends.target.offer_files(1, 0, getpid(), std::span(&module, 1));
    ends.target.want_rows(kBuildId, "/bin/program", uint64_t{4096});
    want_functions(kBuildId);
  }
  void want_functions(const std::string& build_id) {
    ends.target.functions().want(ends.target.link().line(),
                                 {.build_id = build_id, .path = "/bin/program", .names = {"malloc"}});
  }
  void say(const Message& message) { ends.host.link().line().send(message); }
  // Serves, and lets the host hear, or not.
  void serve(bool is_heard = true) {
    service.serve();
    const auto now = std::chrono::steady_clock::now();
    if (is_heard) ends.host.proceed(now);
    while (is_heard && ends.host.link().line().next()) {
    }
  }
  bool serve_all() {
    return ends.run_until([this] {
      serve();
      const line::ReliableLine& line = ends.host.link().line();
      return line.unconfirmed() == 0 || !ends.host.link().is_up();
    });
  }

  test::TwoEnds ends;
  uint64_t streams = 0;
  uplink::ForwardedRecordings recordings;
  supervision::RecordedProcesses processes;
  Source source;
  uplink::HostService service;
};

Message message(message::Number kind, uint64_t number = 0) { return {.kind = kind, .number = number, .fields = {}}; }
Message about(message::Number kind, pid_t pid, uint64_t number = 0) {
  Message made = message(kind, number);
  made.fields.add(Field::kPid, static_cast<uint64_t>(pid));
  return made;
}

line::RecordOrder some_order() {
  return {.command = {"/bin/program", "word"},
          .environment = {"A=1"},
          .user = "1000",
          .processes = {1000, 1001},
          .via = "ptrace",
          .follow_fork = true,
          .follow_exec = true,
          .no_cpp = true,
          .leak_scan = false,
          .drop_on_overflow = true,
          .depth = 30,
          .log_memory_bytes = uint64_t{1} << 33,
          .report_signal = 12,
          .omit = {"libodd.so"}};
}

std::vector<model::ToldFunction> two_lies() {
  return {{.name = "malloc", .address = 4096}, {.name = "free", .address = 8192, .is_local = true}};
}

// What a host says that doesn't lie, but what ends the session.
std::vector<Message> honest() {
  std::vector<Message> said;
  uint64_t number = 0;
  said.push_back({.kind = Kind::kRecord, .number = ++number, .fields = line::encode(some_order())});
  for (const control::Kind kind :
       {control::Kind::kStop, control::Kind::kStart, control::Kind::kSnapshot, control::Kind::kDetach}) {
    said.push_back(about(kind, kNoProcess, ++number));
    said.push_back(message(kind, ++number));
  }
  said.push_back(about(control::Kind::kMark, kNoProcess, ++number));
  said.back().fields.add(Field::kMarkKind, uint64_t{3});
  said.back().fields.add(Field::kName, "mark");
  said.push_back(about(control::Kind::kKill, kNoProcess, ++number));
  said.back().fields.add(control::Field::kSignal, "TERM");
  said.push_back(message(Kind::kBlocks));
  said.back().fields.add(Field::kStream, uint64_t{1});
  const std::vector<model::ScannedBlock> blocks = {
      {.address = 4096, .size_bytes = 8, .number = 0, .site = 0, .type = 0}};
  said.back().fields.add(Field::kBytes, line::text_of(stream::write_scanned_blocks(blocks)));
  said.back().fields.add(Field::kMore, true);
  model::RowTable rows;
  for (uint64_t i = 0; i < 100; ++i) rows.add(16 * i, static_cast<uint32_t>(i % 2 + 1));
  said.push_back(message(Kind::kRows));
  said.back().fields.add(Field::kBuildId, kBuildId);
  said.back().fields.add(Field::kRows, line::text_of(model::encode(rows)));
  said.back().fields.add(Field::kMore, true);
  said.push_back(line::message_of(line::FoundFunctions{.build_id = kBuildId, .functions = two_lies()}));
  for (const Kind kind : {Kind::kFileWanted, Kind::kFileSettled}) {
    said.push_back(message(kind));
    said.back().fields.add(Field::kStream, uint64_t{1});
    said.back().fields.add(Field::kModule, uint64_t{0});
    said.back().fields.add(Field::kOffset, uint64_t{0});
  }
  return said;
}

class LyingHost : public ::testing::Test {
 protected:
  std::unique_ptr<Target> target() {
    auto made = std::make_unique<Target>(directory_.path());
    EXPECT_TRUE(made->ends.meet());
    return made;
  }
  test::OwnDirectory directory_;
};

TEST_F(LyingHost, DoesNoHarmByAnyMessage) {
  const int messages = test::rounds(20'000, 100'000);
  constexpr int kOfOneTarget = 100;
  test::MessageLies lies(23);
  const std::vector<Message> session = honest();
  std::unique_ptr<Target> target;
  int count = 0;
  for (int said = 0; said < messages; ++said) {
    if (said % kOfOneTarget == 0) {
      target.reset();
      target = this->target();
    }
    Message lie = lies.of(session[lies.pick(session.size())]);
    // A scan waits for what the host tells: below.
    if (lie.kind == control::Kind::kScan) lie.kind = control::Kind::kMark;
    target->say(lie);
    if (lies.pick(20) == 0) target->serve();
    ASSERT_LE(target->ends.target.link().line().kept_bytes(), size_t{8} << 20);
    for (const pid_t pid : target->source.detached) ASSERT_TRUE(pid == kNoProcess || pid == kNoProcess + 1);
    for (const auto& [build_id, functions] : target->ends.target.functions().told()) {
      ASSERT_EQ(build_id, kBuildId);
      ASSERT_LE(functions.size(), 512u);
    }
    count += target->service.wants_end() ? 1 : 0;
  }
  EXPECT_LT(count, messages / 2);
  EXPECT_TRUE(target->serve_all());
}

TEST_F(LyingHost, DoesNoHarmByAnyOrder) {
  const int messages = test::rounds(20'000, 100'000);
  test::MessageLies lies(29);
  const Message sound{.kind = Kind::kRecord, .number = 1, .fields = line::encode(some_order())};
  int accepted = 0;
  for (int i = 0; i < messages; ++i) {
    const auto order = line::decode_order(lies.of(sound).fields);
    if (!order) continue;
    ++accepted;
    ASSERT_TRUE(!order->command.empty() || !order->processes.empty());
    for (const pid_t process : order->processes) ASSERT_GT(process, 0);
    ASSERT_LE(order->report_signal, 64);
    ASSERT_GE(order->report_signal, 0);
  }
  EXPECT_GT(accepted, messages / 10);
  EXPECT_LT(accepted, messages);
}

TEST_F(LyingHost, GetsNoAnswersWithoutEndWhileItDoesNotListen) {
  const auto target = this->target();
  line::ReliableLine& kept = target->ends.target.link().line();
  const std::string name(200, 'n');
  for (uint64_t i = 1; i <= 30'000; ++i) {
    Message mark = message(control::Kind::kMark, i);
    mark.fields.add(Field::kMarkKind, uint64_t{0});
    mark.fields.add(Field::kName, name);
    target->say(mark);
  }
  for (int i = 0; i < 3000; ++i) {
    // Its end of the line says all that it has to say, and forgets what it hears.
    line::Link& link = target->ends.host.link();
    link.proceed(std::chrono::steady_clock::now());
    target->service.serve();
    ASSERT_LE(kept.kept_bytes(), size_t{3} << 20);
  }
}

TEST_F(LyingHost, SetsNoMarkThatIsNone) {
  const auto target = this->target();
  const size_t before = target->ends.target.link().line().kept_bytes();
  for (const std::string& name : {std::string(), std::string(257, 'n'), std::string(100'000, 'n')}) {
    Message mark = message(control::Kind::kMark);
    mark.fields.add(Field::kMarkKind, uint64_t{0});
    mark.fields.add(Field::kName, name);
    target->say(mark);
  }
  Message mark = message(control::Kind::kMark);
  mark.fields.add(Field::kMarkKind, uint64_t{99});
  mark.fields.add(Field::kName, "a name");
  target->say(mark);
  EXPECT_TRUE(target->ends.run_until([&] {
    target->service.serve();
    return target->ends.target.link().line().received() == 4;
  }));
  EXPECT_LE(target->ends.target.link().line().kept_bytes(), before);
}

TEST_F(LyingHost, TellsOfNoMoreFunctionsThanThereCanBeNorOfOtherPrograms) {
  const auto target = this->target();
  target->want_functions("another");
  Message many = line::message_of(line::FoundFunctions{.build_id = kBuildId, .functions = two_lies()});
  for (int i = 0; i < 511; ++i) many.fields.add(Field::kEntry, *many.fields.text(Field::kEntry));
  target->say(many);
  target->say(line::message_of(line::FoundFunctions{.build_id = "stranger", .functions = two_lies()}));
  target->say(line::message_of(line::FoundFunctions{.build_id = "another", .functions = two_lies()}));
  target->say(line::message_of(line::FoundFunctions{.build_id = "another", .functions = {}}));
  EXPECT_TRUE(target->serve_all());
  const model::ToldFunctions expected{{"another", two_lies()}};
  EXPECT_EQ(target->ends.target.functions().told(), expected);
}

// It tells more blocks than there can be, or says anything but what is waited for.
TEST_F(LyingHost, DoesNotKeepAScanWaiting) {
  for (const bool tells_blocks : {true, false}) {
    const auto target = this->target();
    target->say(about(control::Kind::kScan, kNoProcess, 1));
    std::vector<model::ScannedBlock> blocks;
    for (uint64_t i = 0; i < 10'000; ++i) {
      blocks.push_back({.address = i * 16, .size_bytes = 8, .number = 0, .site = 0, .type = 0});
    }
    Message more = message(tells_blocks ? message::Number(Kind::kBlocks) : control::Kind::kSnapshot);
    more.fields.add(Field::kStream, uint64_t{1});
    more.fields.add(Field::kQuestion, uint64_t{1});
    more.fields.add(Field::kBytes, line::text_of(stream::write_scanned_blocks(blocks)));
    more.fields.add(Field::kMore, true);
    for (int i = 0; i < 500; ++i) target->say(more);
    // All of it is on its way before the target's side begins to wait.
    ASSERT_TRUE(target->ends.run_until([&] {
      target->ends.host.proceed(std::chrono::steady_clock::now());
      return target->ends.host.link().is_up();
    }));
    const auto begin = std::chrono::steady_clock::now();
    constexpr std::chrono::minutes kLongest{1};  // it would be held up for ever
    std::jthread sender([&](const std::stop_token& stop) {
      while (!stop.stop_requested()) target->ends.host.proceed(std::chrono::steady_clock::now());
    });
    target->service.serve();
    for (int i = 0; i < 50; ++i) {
      target->service.serve();
      std::this_thread::yield();
    }
    sender.request_stop();
    sender.join();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, kLongest) << tells_blocks;
  }
}

}  // namespace
}  // namespace heaptap::remote
