// The console's commands, over a recording that only notes what is done with it.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "apps/heaptap/console/console_commands.h"
#include "apps/heaptap/console/console_news.h"
#include "apps/heaptap/console/console_session.h"
#include "views/shell/shell.h"

namespace heaptap::app {
namespace {

client::Process process(uint32_t pid, const char* program, uint32_t parent_pid = 0) {
  client::Process process;
  process.pid = pid;
  process.parent_pid = parent_pid;
  process.program = program;
  process.runs = true;
  return process;
}

client::News happened(client::News::Kind kind, uint32_t pid = 0, const char* text = "", uint32_t number = 0) {
  client::News news;
  news.kind = kind;
  news.pid = pid;
  news.number = number;
  news.text = text;
  return news;
}

class FakeRecording : public client::Recording, public client::LiveControl {
 public:
  [[nodiscard]] bool is_live() const override { return !is_lost; }
  [[nodiscard]] std::string name() const override { return "12"; }
  [[nodiscard]] client::LiveControl* control() override { return this; }

  base::Result<std::vector<client::Process>> processes() override { return known; }
  base::Result<client::Figures> figures(uint32_t pid) override {
    return client::Figures{.pid = pid,
                           .time_ns = 3'000'000'000,
                           .events = 1000,
                           .lost_events = 2,
                           .log_used_bytes = 1 << 20,
                           .log_limit_bytes = 4 << 20,
                           .trace_bytes = 4096,
                           .resident_bytes = {},
                           .target_cpu_ns = {},
                           .collector_cpu_ns = 1'000'000,
                           .is_on = true,
                           .marks = 1,
                           .scans = 2,
                           .paused_by_tracer_ns = paused_ns};
  }
  base::Result<client::Settings> settings() override {
    client::Settings settings;
    settings.collector_pid = 99;
    settings.depth = 8;
    return settings;
  }
  base::Result<std::vector<model::Mark>> marks(uint32_t /*pid*/) override {
    model::Mark named;
    named.number = 1;
    named.name = "warm\x1b[2J";
    return std::vector<model::Mark>{named};
  }
  base::Result<report::Report> report(client::ProgramId program, const query::Query& query) override {
    did += "report " + std::to_string(program.pid) +
           (program.image == 0 ? ";" : " image " + std::to_string(program.image) + ";");
    asked = query;
    report::Report report;
    report.capture.running = true;
    report.leaks.scanned = true;
    report.leaks.scan.number = query.leaks.scan;
    if (query.leaks.since != 0) report.scan_changes = changes;
    return report;
  }
  base::Result<report::Report> glance(client::ProgramId program, const query::Query& /*query*/) override {
    did += "glance " + std::to_string(program.pid) + ";";
    report::Report report;
    report.totals.live_bytes = 512;
    report.totals.live_blocks = 4;
    return report;
  }
  [[nodiscard]] client::Freshness freshness(client::ProgramId /*program*/) override {
    return {.read_bytes = 1024, .written_bytes = 4096};
  }
  base::Result<std::string> trace_file(client::ProgramId /*program*/) override { return std::string("none.htap"); }

  base::Result<> start(uint32_t pid) override { return note("start", pid); }
  base::Result<> stop(uint32_t pid) override { return note("stop", pid); }
  base::Result<> reset(uint32_t pid) override { return note("reset", pid); }
  base::Result<size_t> mark(uint32_t pid, const std::string& name) override {
    const auto noted = note("mark '" + name + "'", pid);
    if (!noted) return std::unexpected(noted.error());
    return pid == 0 ? known.size() : 1;
  }
  base::Result<client::ScanResult> scan(uint32_t pid, client::ScanKind kind) override {
    const auto noted = note("scan " + std::to_string(static_cast<int>(kind)), pid);
    if (!noted) return std::unexpected(noted.error());
    return client::ScanResult{.number = 3, .since = kind == client::ScanKind::kAll ? 0u : 2u};
  }
  base::Result<> set_depth(uint32_t depth) override { return note("depth " + std::to_string(depth), 0); }
  base::Result<> detach(uint32_t pid) override { return note("detach", pid); }
  base::Result<> kill(uint32_t pid, const std::string& signal) override { return note("kill " + signal, pid); }

  void set_give_up(std::function<bool()> /*give_up*/) override {}

  [[nodiscard]] int news_descriptor() const override { return -1; }
  std::vector<client::News> take_news() override { return std::exchange(news, {}); }

  std::vector<client::Process> known{process(12, "one"), process(13, "two", 12)};
  std::vector<client::News> news;
  report::ScanChanges changes;
  query::Query asked;
  std::string did;
  std::optional<uint64_t> paused_ns;
  bool is_lost = false;

 private:
  base::Result<> note(const std::string& what, uint32_t pid) {
    if (is_lost) return base::fail("{}: the connection is lost", what);
    did += what + " " + std::to_string(pid) + ";";
    return {};
  }
};

class ConsoleTest : public testing::Test {
 protected:
  void SetUp() override {
    auto recording = std::make_unique<FakeRecording>();
    fake_ = recording.get();
    session_.take(std::move(recording));
    session_.settings.pager = false;
    for (const auto& group :
         {status_commands, report_commands, steering_commands, settings_commands, program_commands}) {
      shell_.commands().add(group(session_));
    }
  }

  // What the command printed.
  std::string output_of(const std::string& line, int expected_status = 0) {
    testing::internal::CaptureStdout();
    EXPECT_EQ(shell_.execute(line), expected_status) << line << ": " << complaints_;
    return testing::internal::GetCapturedStdout();
  }
  std::string done_by(const std::string& line, int expected_status = 0) {
    fake_->did.clear();
    (void)output_of(line, expected_status);
    return fake_->did;
  }

  ConsoleSession session_;
  FakeRecording* fake_ = nullptr;
  std::string complaints_;
  shell::Shell shell_{
      shell::Shell::Callbacks{.print = [this](std::string_view text) { return session_.print(text, false); },
                              .complain = [this](std::string_view text) { complaints_ += text; },
                              .news = {.descriptor = [this] { return session_.news_descriptor(); },
                                       .take = [this] { return session_.take_news(); }}}};
};

TEST_F(ConsoleTest, SteersAllProcessesOrTheOneThatIsNamed) {
  EXPECT_EQ(done_by("stop"), "stop 0;");
  EXPECT_EQ(done_by("start 13"), "start 13;");
  EXPECT_EQ(done_by("clear"), "reset 0;");
  EXPECT_EQ(done_by("detach 12"), "detach 12;");
  EXPECT_EQ(done_by("mark 'after login'"), "mark 'after login' 0;");
  (void)output_of("set process 13");
  EXPECT_EQ(done_by("stop"), "stop 13;");
  EXPECT_EQ(done_by("show top"), "report 13;");
  (void)output_of("set process all");
  EXPECT_EQ(done_by("stop"), "stop 0;");
}

TEST_F(ConsoleTest, AMarkOfItsOwnIsNoNews) {
  (void)output_of("mark here");
  for (const uint32_t pid : {12u, 13u, 14u}) fake_->news.push_back(happened(client::News::Kind::kMarked, pid, "here"));
  fake_->news.push_back(happened(client::News::Kind::kMarked, 12, "there"));
  const std::string news = session_.take_news();
  EXPECT_EQ(news.find("process 12: mark 0 'here'"), std::string::npos) << news;
  EXPECT_EQ(news.find("process 13: mark 0 'here'"), std::string::npos) << news;
  EXPECT_NE(news.find("process 14: mark 0 'here'"), std::string::npos) << "of somebody else: " << news;
  EXPECT_NE(news.find("process 12: mark 0 'there'"), std::string::npos) << news;
}

TEST_F(ConsoleTest, KillTakesASignalAPidOrBoth) {
  EXPECT_EQ(done_by("kill"), "kill TERM 0;");
  EXPECT_EQ(done_by("kill 13"), "kill TERM 13;");
  EXPECT_EQ(done_by("kill HUP"), "kill HUP 0;");
  EXPECT_EQ(done_by("kill -9 13"), "kill 9 13;");
  EXPECT_EQ(done_by("kill 9 13"), "kill 9 13;");
  EXPECT_EQ(done_by("kill HUP x", 2), "");
}

TEST_F(ConsoleTest, WhatIsNoPidIsRefused) {
  for (const char* line : {"stop x", "stop -1", "stop 0", "stop 99999999999", "stop 12 13", "scan sideways", "mark"}) {
    EXPECT_EQ(done_by(line, 2), "") << line;
  }
}

TEST_F(ConsoleTest, ScansTellWhatTheyWereAskedFor) {
  EXPECT_EQ(done_by("scan"), "scan 0 0;report 0;");
  EXPECT_EQ(fake_->asked.leaks.scan, 3u);
  fake_->changes.total.allocated = {.blocks = 2, .bytes = 48};
  fake_->changes.total.remained = {.blocks = 5, .bytes = 100};
  fake_->changes.total.gone = {.blocks = 1, .bytes = 10};
  EXPECT_NE(output_of("scan new").find("Scan 3: 48 B in 2 blocks lost, allocated since scan 2\n"), std::string::npos);
  fake_->changes.total.older = {.blocks = 1, .bytes = 8};
  EXPECT_NE(output_of("scan new").find("since scan 2; 8 B in 1 block allocated before\n"), std::string::npos);
  EXPECT_EQ(fake_->asked.leaks.since, 2u);
  EXPECT_NE(output_of("scan l 12").find("100 B in 5 blocks still lost, 10 B in 1 block no longer"), std::string::npos);
  EXPECT_NE(fake_->did.find("scan 2 12;report 12;"), std::string::npos);
}

TEST_F(ConsoleTest, ShowTakesTheOptionsOfTheCommandLineAndTheDefaultsThatWereSet) {
  EXPECT_EQ(done_by("show le --process 13"), "report 13;");
  EXPECT_TRUE(fake_->asked.listing.leaks_only);
  (void)output_of("set sort peak");
  (void)output_of("set skip find");
  (void)output_of("set searchpath /a:/b");
  (void)output_of("set count 7");
  (void)output_of("show top");
  EXPECT_EQ(fake_->asked.listing.sort, query::SortKey::kPeak);
  EXPECT_EQ(fake_->asked.filter.skip, std::vector<std::string>{"find"});
  EXPECT_EQ(fake_->asked.symbols.symbol_directories, (std::vector<std::string>{"/a", "/b"}));
  constexpr uint64_t kOfLibraries = 8;  // what libraries keep is one line, and not counted
  EXPECT_EQ(fake_->asked.listing.limit, 7u + kOfLibraries);
  (void)output_of("show top --sort total -n 3");
  EXPECT_EQ(fake_->asked.listing.sort, query::SortKey::kTotal);
  EXPECT_EQ(fake_->asked.listing.limit, 3u + kOfLibraries);
  EXPECT_EQ(done_by("show nonsense", 2), "");
  EXPECT_EQ(done_by("show top --nonsense", 2), "");
}

TEST_F(ConsoleTest, SettingsAreCheckedAndListed) {
  EXPECT_EQ(done_by("set depth 5"), "depth 5 0;");
  EXPECT_EQ(done_by("set depth x", 2), "");
  EXPECT_EQ(done_by("set process 99", 2), "");
  EXPECT_EQ(done_by("set sort nonsense", 2), "");
  EXPECT_EQ(done_by("set skip '('", 2), "");
  EXPECT_EQ(done_by("set p on", 2), "");  // pager, process
  (void)output_of("set frames 3");
  const std::string listed = output_of("set");
  EXPECT_NE(listed.find("frames      3\n"), std::string::npos) << listed;
  EXPECT_NE(listed.find("depth       8\n"), std::string::npos) << listed;
}

TEST_F(ConsoleTest, StatusSaysHowFarItIs) {
  const std::string status = output_of("status");
  EXPECT_NE(status.find("one (pid 12): running\n  3.00 s, 1,000 events, 2 lost\n"), std::string::npos) << status;
  EXPECT_NE(status.find("live 512 B in 4 blocks"), std::string::npos) << status;
  EXPECT_NE(status.find("log 1.0 MiB of 4.0 MiB (25%), trace 4.0 KiB, 3.0 KiB of it not counted yet"),
            std::string::npos)
      << status;
  const std::string info = output_of("info");
  EXPECT_NE(info.find("1.0 ms, 1.0 us an event"), std::string::npos) << info;
  EXPECT_EQ(info.find("tracer"), std::string::npos) << "by the agent: " << info;
  fake_->paused_ns = 750'000'000;
  EXPECT_NE(output_of("info").find("  paused by the tracer  750.0 ms, 25% of the time\n"), std::string::npos);
}

TEST_F(ConsoleTest, NamesFromTheProgramAreMadeSafe) {
  EXPECT_EQ(output_of("marks").find('\x1b'), std::string::npos);
  fake_->known[0].program = "evil\x1b]0;title\x07";
  for (const char* line : {"processes", "status"}) {
    const std::string text = output_of(line);
    EXPECT_EQ(text.find('\x1b'), std::string::npos) << line;
    EXPECT_NE(text.find("evil\\x1b"), std::string::npos) << line << text;
  }
  EXPECT_EQ(news_text(happened(client::News::Kind::kMarked, 1, "a\nb")).find('\n'), std::string::npos);
}

TEST_F(ConsoleTest, MonitorCountsInScripts) {
  (void)output_of("show top");
  EXPECT_EQ(done_by("monitor 0 2"), "glance 12;glance 13;glance 0;glance 12;glance 13;glance 0;");
  EXPECT_EQ(done_by("monitor 1 x", 2), "");
}

TEST_F(ConsoleTest, NewsAreToldInOrderAndOnce) {
  using Kind = client::News::Kind;
  fake_->news = {happened(Kind::kBegan, 13), happened(Kind::kExecuted, 13, "/bin/ls"),
                 happened(Kind::kScanned, 12, "", 3), happened(Kind::kEnded, 13)};
  fake_->news.front().parent_pid = 12;
  fake_->news.back().exit.code = 3;
  testing::internal::CaptureStdout();
  EXPECT_EQ(shell_.run({"stop", "start"}), 0);
  (void)testing::internal::GetCapturedStdout();
  EXPECT_EQ(complaints_,
            "process 13 was forked by process 12, and is recorded\nprocess 13 executed /bin/ls\n"
            "process 12: scan 3 finished\nprocess 13 exited with 3\n");
}

TEST_F(ConsoleTest, ALostConnectionLeavesWhatWasRecorded) {
  fake_->is_lost = true;
  fake_->news = {happened(client::News::Kind::kConnectionLost, 0, "heaptap ended")};
  EXPECT_EQ(done_by("stop", 125), "");
  EXPECT_NE(complaints_.find("the connection is lost"), std::string::npos);
  testing::internal::CaptureStdout();
  EXPECT_EQ(shell_.run({"show summary"}), 0);
  (void)testing::internal::GetCapturedStdout();
  EXPECT_NE(complaints_.find("the recording has ended (heaptap ended)"), std::string::npos) << complaints_;
  EXPECT_EQ(session_.prompt(), "12 (past)> ");
}

TEST_F(ConsoleTest, CompletesWhatItKnows) {
  EXPECT_EQ(shell_.complete("stop ").words, (shell::Words{"12", "13"}));
  EXPECT_EQ(shell_.complete("scan n").words, shell::Words{"new"});
  EXPECT_EQ(shell_.complete("show ti").words, shell::Words{"timeline"});
  EXPECT_EQ(shell_.complete("show top --process 1").words, (shell::Words{"12", "13"}));
  EXPECT_EQ(shell_.complete("show top --sort pea").words, shell::Words{"peak"});
  EXPECT_EQ(shell_.complete("show top --sort=pea").words, shell::Words{"--sort=peak"});
  EXPECT_EQ(shell_.complete("show top --retai").words, shell::Words{"--retained"});
  EXPECT_EQ(shell_.complete("set sea").words, shell::Words{"searchpath"});
  EXPECT_EQ(shell_.complete("export folde").words, shell::Words{"folded"});
}

TEST(Console, WithoutARecordingItSaysHowToMakeOne) {
  ConsoleSession session;
  std::string complaints;
  shell::Shell shell(shell::Shell::Callbacks{.print = [](std::string_view) { return base::Result<>(); },
                                             .complain = [&](std::string_view text) { complaints += text; }});
  shell.commands().add(status_commands(session));
  EXPECT_EQ(shell.execute("status"), 2);
  EXPECT_NE(complaints.find("`run PROGRAM`"), std::string::npos);
  EXPECT_EQ(session.prompt(), "> ");
}

}  // namespace
}  // namespace heaptap::app
