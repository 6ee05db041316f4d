// The supervisor's talk with agents, which here are connections of the test's own.
#include "capture/supervision/agent_source.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <filesystem>

#include "apps/heaptap/commands/trace_file.h"
#include "common/wire/log.h"
#include "record/recordings/local_recording.h"

namespace heaptap::supervision {
namespace {

RecordingOptions options_in(const std::filesystem::path& directory) {
  RecordingOptions options;
  options.log.chunk_memory_bytes = 1 << 20;
  options.output = (directory / "trace.htap").string();
  options.via = "agent";
  options.command = {"program"};
  options.executable = "/program";
  return options;
}

class AgentSourceTest : public testing::Test {
 protected:
  AgentSourceTest() { std::filesystem::create_directories(directory_); }
  ~AgentSourceTest() override { std::filesystem::remove_all(directory_); }

  // A connection that has asked for a log.
  int ask() {
    const int connection = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string& name = server_.name();
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    EXPECT_EQ(connect(connection, reinterpret_cast<const sockaddr*>(&address), bytes), 0);
    wire::Hello hello{};
    hello.magic = wire::kHelloMagic;
    hello.version = wire::kHandshakeVersion;
    hello.log_version = wire::kLogVersion;
    hello.word_bytes = 8;
    hello.architecture = static_cast<uint32_t>(wire::Architecture::kX86_64);
    hello.reason = wire::StartReason::kStart;
    const std::string session = server_.session();
    std::memcpy(hello.secret, session.data() + session.find(wire::kSecretSeparator) + 1, sizeof(hello.secret));
    EXPECT_EQ(send(connection, &hello, sizeof(hello), 0), static_cast<ssize_t>(sizeof(hello)));
    return connection;
  }
  // A process that is recorded, and stays.
  pid_t record_child() {
    const pid_t child = fork();
    if (child == 0) {
      ask();
      while (true) pause();
    }
    while (processes_.find(child) == nullptr) {
      wait_for_news(-1);
      source_.take_news();
    }
    return child;
  }
  int wait_for_news(int max_ms) {
    std::vector<pollfd> waits;
    source_.add_waits(waits);
    return poll(waits.data(), waits.size(), max_ms);
  }
  int ready_waits() { return wait_for_news(0); }
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) names.push_back(entry.path().filename());
    return names;
  }

  std::filesystem::path directory_ =
      std::filesystem::temp_directory_path() / ("heaptap-agent-source-" + std::to_string(getpid()));
  AgentServer server_ = *AgentServer::create();
  RecordedProcesses processes_{options_in(directory_), recordings::LocalRecording::create};
  AgentSource source_{processes_, server_};
};

TEST_F(AgentSourceTest, NothingIsLeftOfAnAgentThatIsGoneBeforeItsAnswer) {
  close(ask());
  source_.take_news();
  EXPECT_EQ(processes_.find(getpid()), nullptr);
  EXPECT_TRUE(files().empty());
  EXPECT_TRUE(processes_.take_traces({}).empty());
}

// It ran unrecorded, which its trace says.
TEST_F(AgentSourceTest, AnAgentThatHasWaitedTooLongHasATraceWithoutAnything) {
  AgentSource late(processes_, server_, std::chrono::nanoseconds(0));
  close(ask());
  late.take_news();
  RecordedProcess* const process = processes_.find(getpid());
  ASSERT_NE(process, nullptr);
  EXPECT_TRUE(late.has_left(*process));
  processes_.end(getpid(), {});
  const std::vector<FinishedTrace> traces = processes_.take_traces({});
  ASSERT_EQ(traces.size(), 1U);
  const auto reader = app::open_trace(traces[0].path);
  ASSERT_TRUE(reader);
  EXPECT_TRUE((*reader)->capture().detached);
  ASSERT_EQ((*reader)->capture().notes.size(), 1U);
  EXPECT_EQ((*reader)->capture().notes[0].kind, model::NoteKind::kNotAnswered);
}

TEST_F(AgentSourceTest, AProgramWhoseSuccessorIsGoneBeforeItsAnswerKeepsItsTrace) {
  const int first = ask();
  source_.take_news();
  ASSERT_NE(processes_.find(getpid()), nullptr);
  close(ask());
  source_.take_news();
  EXPECT_EQ(files(), std::vector<std::string>{"trace.htap"});
  const std::vector<FinishedTrace> traces = processes_.take_traces({});
  ASSERT_EQ(traces.size(), 1U);
  EXPECT_EQ(traces[0].path, (directory_ / "trace.htap").string());
  EXPECT_TRUE(traces[0].executed);
  ASSERT_TRUE(app::open_trace(traces[0].path));
  EXPECT_TRUE((*app::open_trace(traces[0].path))->capture().ended);
  close(first);
}

// `poll` tells the end of a process again and again, as long as it is asked.
TEST_F(AgentSourceTest, ItIsWokenOnceForAnEnd) {
  for (const bool is_program : {false, true}) {
    SCOPED_TRACE(is_program);
    const pid_t child = record_child();
    if (is_program) processes_.program() = {.process = child};
    EXPECT_EQ(ready_waits(), 0);
    kill(child, SIGKILL);
    siginfo_t end{};
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &end, WEXITED | WNOWAIT), 0);
    EXPECT_EQ(ready_waits(), 1);
    processes_.program().ended = true;
    EXPECT_TRUE(source_.has_left(*processes_.find(child)));
    EXPECT_EQ(ready_waits(), 0);
    EXPECT_TRUE(source_.has_left(*processes_.find(child)));
    waitpid(child, nullptr, 0);
    processes_.end(child, {});
  }
}

}  // namespace
}  // namespace heaptap::supervision
