// The supervisor's talk with the tracer, with a tracer that says what the test wants.
#include "capture/supervision/tracer_source.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <deque>
#include <filesystem>
#include <fstream>
#include <limits>

#include "analysis/findings/note_text.h"
#include "apps/heaptap/commands/trace_file.h"
#include "apps/heaptap/commands/tracing_news.h"
#include "capture/supervision/asked_file.h"
#include "record/recordings/local_recording.h"

namespace heaptap::tracer {
namespace {

std::deque<TracerMessage> g_messages;  // that come
std::vector<std::string> g_told;       // what the tracer was told

void told(const char* what, pid_t process) { g_told.push_back(std::string(what) + " " + std::to_string(process)); }

}  // namespace

struct TracerClient::State {};
base::Result<std::unique_ptr<TracerClient>> TracerClient::start(const TracerOptions&) {
  g_messages.clear();
  g_told.clear();
  return std::unique_ptr<TracerClient>(new TracerClient(nullptr));
}
std::unique_ptr<TracerClient> TracerClient::over(base::UniqueFd, pid_t) { return nullptr; }
TracerClient::TracerClient(std::unique_ptr<State> state) : state_(std::move(state)) {}
TracerClient::~TracerClient() = default;
pid_t TracerClient::process() const { return 1; }
int TracerClient::descriptor() const { return -1; }
std::optional<TracerMessage> TracerClient::receive() {
  if (g_messages.empty()) return std::nullopt;
  TracerMessage message = std::move(g_messages.front());
  g_messages.pop_front();
  return message;
}
base::Result<> TracerClient::attach_before_exec(pid_t) { return {}; }
void TracerClient::attach(pid_t process) { told("attach", process); }
void TracerClient::give_log(pid_t process, const log::LogMemory&) { told("log", process); }
void TracerClient::refuse_log(pid_t process) { told("refuse", process); }
void TracerClient::detach(pid_t process) { told("detach", process); }
void TracerClient::detach_all() { told("detach", 0); }
void TracerClient::end_may_go_on(pid_t process, wire::ExitKind /*kind*/) { told("end", process); }
void TracerClient::answer(const Answer& answer) {
  g_told.push_back(fmt::format("answer {}: {} {}", answer.question, answer.error, answer.counts[0]));
}
base::Result<process::StoppedProcess> TracerClient::hold(pid_t process) {
  told("hold", process);
  return base::fail("it can't be held");
}

}  // namespace heaptap::tracer

namespace heaptap::supervision {
namespace {

using tracer::Left;
using tracer::LogWanted;
using Words = std::vector<std::string>;

RecordingOptions options_in(const std::filesystem::path& directory) {
  RecordingOptions options;
  options.log.chunk_memory_bytes = 1 << 20;
  options.output = (directory / "%p.htap").string();
  options.overwrite = true;
  options.via = "ptrace";
  options.command = {"program"};
  options.executable = "/program";
  return options;
}

// Has everything written at once, and found three blocks.
class WriterAtOnce final : public ReportWriter {
 public:
  bool is_busy(pid_t) override { return false; }
  void write(ReportRequest request) override {
    request.answer({.is_done = request.output || request.scan != 0, .counts = {3}});
  }
  void end(pid_t, uint32_t) override {}
};

class TracerSourceTest : public testing::Test {
 protected:
  TracerSourceTest() { std::filesystem::create_directories(directory_); }
  ~TracerSourceTest() override { std::filesystem::remove_all(directory_); }

  void hear(std::initializer_list<tracer::TracerMessage> messages) {
    for (const auto& message : messages) tracer::g_messages.push_back(message);
    source_.take_news();
  }
  static LogWanted log_wanted(pid_t process, LogWanted::Reason reason) {
    return {process, 0, reason, wire::Architecture::kX86_64, 8};
  }
  // Ends the recording as the supervisor does.
  model::Capture end(pid_t process) {
    const RecordedProcess* found = processes_.find(process);
    EXPECT_TRUE(found != nullptr && source_.has_left(*found));
    const std::string path = found->trace_half->path();
    processes_.end(process, found->exit);
    return (*app::open_trace(path))->capture();
  }
  static bool has_note(const model::Capture& capture, const std::string& word) {
    return std::ranges::any_of(capture.notes,
                               [&](const model::Note& note) { return findings::sentence_of(note).contains(word); });
  }

  std::filesystem::path directory_ =
      std::filesystem::temp_directory_path() / ("heaptap-tracer-source-" + std::to_string(getpid()));
  std::unique_ptr<tracer::TracerClient> line_ = *tracer::TracerClient::start({});
  RecordedProcesses processes_{options_in(directory_), recordings::LocalRecording::create};
  std::string said_;
  TracerSource source_{
      processes_, *line_, {.tell = [this](const TracingNews& news) { said_ += app::text_of(news, ""); }}};
};

TEST_F(TracerSourceTest, RecordsWhatIsAttachedUntilItLeaves) {
  source_.attach(70);
  EXPECT_FALSE(source_.is_settled());
  hear({log_wanted(70, LogWanted::Reason::kAttach), tracer::Attached{70}});
  EXPECT_TRUE(source_.is_settled());
  EXPECT_EQ(tracer::g_told, (Words{"attach 70", "log 70"}));
  EXPECT_FALSE(source_.has_left(*processes_.find(70)));
  hear({tracer::Noted{70, {.kind = model::NoteKind::kUnwindTableCompressed, .module = "libx.so"}},
        Left{70, Left::Reason::kEnded, base::WaitStatus(3 << 8)}});
  const model::Capture capture = end(70);
  EXPECT_EQ(capture.exit.code, 3);
  EXPECT_FALSE(capture.from_start);
  EXPECT_TRUE(has_note(capture, "libx.so: its unwind tables are compressed"));
  EXPECT_EQ(source_.failures(), 0u);
}

TEST_F(TracerSourceTest, CountsWhatCannotBeAttachedTo) {
  source_.attach(70);
  source_.attach(71);
  hear({tracer::NotAttached{70, "it isn't allowed"}, log_wanted(71, LogWanted::Reason::kAttach), tracer::Attached{71}});
  EXPECT_TRUE(source_.is_settled());
  EXPECT_EQ(source_.failures(), 1u);
  EXPECT_EQ(processes_.find(70), nullptr);
  EXPECT_NE(processes_.find(71), nullptr);
}

TEST_F(TracerSourceTest, AProgramThatIsntRecordedHasATraceThatSaysSo) {
  processes_.program() = {.process = 70};
  hear({tracer::NotAttached{70, "its code can't be read"}});
  EXPECT_FALSE(source_.has_left(*processes_.find(70))) << "its end is still to come";
  processes_.program().ended = true;
  EXPECT_TRUE(has_note(end(70), "its code can't be read"));
}

TEST_F(TracerSourceTest, AnExecutedProgramHasARecordingOfItsOwn) {
  hear({log_wanted(70, LogWanted::Reason::kStart), log_wanted(70, LogWanted::Reason::kExec)});
  EXPECT_TRUE(processes_.find(70)->recording->capture().from_start);
  hear({Left{70, Left::Reason::kEnded, base::WaitStatus()}});
  end(70);
  EXPECT_EQ(processes_.take_traces({}).size(), 2u);
}

TEST_F(TracerSourceTest, AnExecutedProgramThatIsRefusedLeavesTheRecordingItsName) {
  hear({log_wanted(70, LogWanted::Reason::kStart)});
  const std::string path = processes_.find(70)->trace_half->path();
  source_.accept_no_more();
  hear({log_wanted(70, LogWanted::Reason::kExec)});
  EXPECT_EQ(tracer::g_told, (Words{"log 70", "detach 0", "refuse 70"}));
  const model::Capture capture = end(70);
  EXPECT_TRUE(capture.executed);
  EXPECT_TRUE(has_note(capture, "was detaching"));
  EXPECT_EQ(processes_.take_traces({}).front().path, path);
}

TEST_F(TracerSourceTest, OfWhatIsRefusedTheReasonIsSaidOnce) {
  processes_.program() = {.process = 70};
  hear({log_wanted(70, LogWanted::Reason::kStart), tracer::NotAttached{70, "its file can't be read"},
        Left{70, Left::Reason::kFailed, std::nullopt}});
  EXPECT_FALSE(source_.has_left(*processes_.find(70))) << "its end is still to come";
  processes_.program().ended = true;
  const model::Capture capture = end(70);
  EXPECT_TRUE(has_note(capture, "its file can't be read"));
  EXPECT_FALSE(has_note(capture, "had to detach"));
}

TEST_F(TracerSourceTest, WhoLeavesByExecutingIsToldSo) {
  hear({log_wanted(70, LogWanted::Reason::kAttach), Left{70, Left::Reason::kExecuted, std::nullopt}});
  EXPECT_TRUE(has_note(end(70), "-e"));
}

TEST_F(TracerSourceTest, AProgramsEndMayGoOnAlsoWhereNobodyCanLook) {
  hear({log_wanted(70, LogWanted::Reason::kStart), tracer::Exiting{70, {}}, tracer::Exiting{71, {}}});
  EXPECT_EQ(tracer::g_told, (Words{"log 70", "hold 70", "end 70", "end 71"}));
  hear({Left{70, Left::Reason::kEnded, base::WaitStatus()}});
  EXPECT_TRUE(has_note(end(70), "it can't be held"));
}

TEST_F(TracerSourceTest, NothingNewIsRecordedWhenAllAreDetached) {
  hear({log_wanted(70, LogWanted::Reason::kStart)});
  source_.detach(*processes_.find(70));
  source_.accept_no_more();
  source_.attach(71);
  hear({log_wanted(71, LogWanted::Reason::kAttach), Left{70, Left::Reason::kDetached, std::nullopt}});
  EXPECT_EQ(tracer::g_told, (Words{"log 70", "detach 70", "detach 0", "attach 71", "refuse 71"}));
  EXPECT_TRUE(source_.is_settled());
  hear({tracer::TracerGone{}});
  EXPECT_FALSE(source_.is_broken()) << "it did its work";
  EXPECT_FALSE(end(70).exit.code.has_value());
}

TEST_F(TracerSourceTest, WhatAProgramAsksIsAnsweredWithItsNumber) {
  using tracer::Asked;
  WriterAtOnce writer;
  ReportRequests reports(processes_, &writer);
  source_.serve_programs(reports);
  const std::string path = (directory_ / "asked.memlog").string();
  hear({log_wanted(70, LogWanted::Reason::kStart),
        Asked{.process = 70, .thread = getpid(), .kind = Asked::Kind::kReport, .question = 5, .path = path},
        Asked{.process = 70, .thread = getpid(), .kind = Asked::Kind::kReport, .question = 6, .path = path + "/none"},
        Asked{.process = 70, .thread = 70, .kind = Asked::Kind::kScan, .question = 7, .path = {}},
        Asked{.process = 71, .thread = 71, .kind = Asked::Kind::kScan, .question = 8, .path = {}}});
  EXPECT_TRUE(std::filesystem::exists(path));
  tracer::g_told.clear();
  source_.take_news();
  EXPECT_EQ(tracer::g_told, (Words{"answer 5: 0 3", fmt::format("answer 6: {} 0", ENOTDIR),
                                   fmt::format("answer 7: {} 0", EPERM), fmt::format("answer 8: {} 0", ENOTSUP)}));
}

TEST_F(TracerSourceTest, NobodyIsThereToWriteReports) {
  hear({log_wanted(70, LogWanted::Reason::kStart),
        tracer::Asked{.process = 70, .thread = 70, .kind = tracer::Asked::Kind::kScan, .question = 1, .path = {}}});
  tracer::g_told.clear();
  source_.take_news();
  EXPECT_EQ(tracer::g_told, (Words{fmt::format("answer 1: {} 0", ENOTSUP)}));
}

TEST_F(TracerSourceTest, TheFileOfAThreadThatIsGoneIsNotOpened) {
  base::UniqueFd file;
  constexpr pid_t kNobody = std::numeric_limits<pid_t>::max();
  EXPECT_EQ(open_asked_file(kNobody, (directory_ / "file").string(), file), ENOTSUP);
  EXPECT_FALSE(file);
  EXPECT_FALSE(std::filesystem::exists(directory_ / "file"));
}

TEST_F(TracerSourceTest, TheTracersOwnEndIsInEveryTrace) {
  source_.attach(71);
  hear({log_wanted(70, LogWanted::Reason::kStart)});
  hear({tracer::TracerGone{base::WaitStatus(SIGSEGV)}});
  EXPECT_TRUE(said_.contains("signal 11"));
  EXPECT_TRUE(source_.is_broken());
  EXPECT_TRUE(source_.is_settled());
  EXPECT_EQ(source_.failures(), 1u);
  EXPECT_TRUE(has_note(end(70), "ended unexpectedly"));
}

}  // namespace
}  // namespace heaptap::supervision
