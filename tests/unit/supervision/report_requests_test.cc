#include "capture/supervision/report_requests.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "common/base/stop_signals.h"
#include "record/recordings/local_recording.h"

namespace heaptap::supervision {
namespace {

namespace fs = std::filesystem;

class Writer : public ReportWriter {
 public:
  bool is_busy(pid_t /*process*/) override { return busy; }
  void write(ReportRequest request) override { requests.push_back(std::move(request)); }
  void end(pid_t process, uint32_t image) override { ended.emplace_back(process, image); }

  bool busy = false;
  std::vector<ReportRequest> requests;
  std::vector<std::pair<pid_t, uint32_t>> ended;
};

class Requests : public testing::Test {
 protected:
  Requests() {
    std::string name = (fs::temp_directory_path() / "heaptap-requests-XXXXXX").string();
    directory_ = mkdtemp(name.data());
    base::stop_signals::take_report_requests();
  }
  ~Requests() override { fs::remove_all(directory_); }

  static RecordingOptions options(const std::string& directory, uint32_t signal) {
    RecordingOptions made;
    made.log.chunk_memory_bytes = 1 << 20;
    made.output = directory + "/it.htap";
    made.via = "ptrace";
    made.log.report_signal = signal;
    return made;
  }
  static void count(RecordedProcess& process) { process.log_half->log().header().report_requests.fetch_add(1); }
  static std::vector<std::string> marks(const RecordedProcess& process) {
    std::vector<std::string> names;
    for (const model::Mark& mark : process.trace_half->marks()) names.push_back(mark.name);
    return names;
  }

  std::string directory_;
  Writer writer_;
};

using Names = std::vector<std::string>;

TEST_F(Requests, AreOneForSeveralSignals) {
  RecordedProcesses processes(options(directory_, SIGUSR2), recordings::LocalRecording::create);
  ReportRequests requests(processes, &writer_);
  RecordedProcess& process = *processes.begin({.process = getpid()});
  requests.serve();
  EXPECT_TRUE(writer_.requests.empty());
  for (int i = 0; i < 5; ++i) count(process);
  raise(SIGUSR1);
  requests.serve();
  requests.serve();
  ASSERT_EQ(writer_.requests.size(), 1U);
  const ReportRequest& request = writer_.requests.front();
  EXPECT_TRUE(request.written);
  EXPECT_TRUE(request.trace);
  EXPECT_EQ(request.trace_bytes, fs::file_size(request.trace_path));
  EXPECT_EQ(marks(process), Names{"report 1"});
}

TEST_F(Requests, WaitForTheFirstProcess) {
  RecordedProcesses processes(options(directory_, 0), recordings::LocalRecording::create);
  ReportRequests requests(processes, &writer_);
  raise(SIGUSR1);
  requests.serve();
  RecordedProcess& process = *processes.begin({.process = getpid()});
  requests.serve();
  requests.serve();
  EXPECT_EQ(writer_.requests.size(), 1U);
  EXPECT_EQ(marks(process), Names{"report 1"});
}

TEST_F(Requests, WaitForTheOneThatIsBeingWritten) {
  RecordedProcesses processes(options(directory_, SIGUSR2), recordings::LocalRecording::create);
  ReportRequests requests(processes, &writer_);
  RecordedProcess& process = *processes.begin({.process = getpid()});
  writer_.busy = true;
  for (int i = 0; i < 3; ++i) {
    count(process);
    requests.serve();
  }
  EXPECT_TRUE(writer_.requests.empty());
  EXPECT_TRUE(marks(process).empty());
  writer_.busy = false;
  requests.serve();
  requests.serve();
  EXPECT_EQ(writer_.requests.size(), 1U);
}

TEST_F(Requests, ComeBeforeTheProcessIsForgotten) {
  RecordedProcesses processes(options(directory_, SIGUSR2), recordings::LocalRecording::create);
  ReportRequests requests(processes, &writer_);
  RecordedProcess& process = *processes.begin({.process = getpid()});
  writer_.busy = true;
  count(process);
  requests.serve_last(process);
  EXPECT_EQ(writer_.requests.size(), 1U);
  EXPECT_EQ(writer_.ended, (std::vector<std::pair<pid_t, uint32_t>>{{getpid(), 1}}));
}

TEST_F(Requests, OfALogThatWasAskedForNoneAreNone) {
  RecordedProcesses processes(options(directory_, 0), recordings::LocalRecording::create);
  ReportRequests requests(processes, &writer_);
  RecordedProcess& process = *processes.begin({.process = getpid()});
  count(process);
  requests.serve();
  EXPECT_TRUE(writer_.requests.empty());
  raise(SIGUSR1);
  requests.serve();
  EXPECT_EQ(writer_.requests.size(), 1U);
}

TEST_F(Requests, OfTheProgramAreAnswered) {
  RecordedProcesses processes(options(directory_, 0), recordings::LocalRecording::create);
  RecordedProcess& process = *processes.begin({.process = getpid()});
  ReportRequests requests(processes, &writer_);
  requests.request(process, base::UniqueFd(dup(STDERR_FILENO)), [](const ReportOutcome&) {});
  ASSERT_EQ(writer_.requests.size(), 1U);
  EXPECT_TRUE(writer_.requests.front().output);
  EXPECT_TRUE(writer_.requests.front().answer);
  requests.request_counts(process, 3, [](const ReportOutcome&) {});
  ASSERT_EQ(writer_.requests.size(), 2U);
  EXPECT_EQ(writer_.requests.back().scan, 3U);
  EXPECT_FALSE(writer_.requests.back().output);
  EXPECT_EQ(marks(process), Names{"report 1"}) << "a scan marks no moment";
  bool is_written = true;
  ReportRequests nobodys(processes, nullptr);
  nobodys.serve();
  nobodys.request(process, {}, [&is_written](const ReportOutcome& outcome) { is_written = outcome.is_done; });
  EXPECT_FALSE(is_written);
}

}  // namespace
}  // namespace heaptap::supervision
