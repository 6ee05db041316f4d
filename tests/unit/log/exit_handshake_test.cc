#include "capture/log/exit_responder.h"

#include <gtest/gtest.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <vector>

#include "capture/launch/launch.h"
#include "capture/log/area_reader.h"
#include "capture/log/log_memory.h"
#include "capture/log/log_waker.h"
#include "capture/supervision/agent_server.h"

namespace heaptap::log {
namespace {

using wire::ExitKind;
using wire::ExitTurn;

constexpr int kLongMs = 30'000;

// The program with the agent in it, its log, and a collector that does nothing by itself.
class Ended {
 public:
  explicit Ended(const std::string& way, uint32_t flags = wire::kScanAtEnd)
      : places_(testing::TempDir() + "heaptap-ending." + std::to_string(getpid())) {
    LogOptions options;
    options.flags = flags;
    memory_ = *LogMemory::create(options);
    launch::LaunchOptions launched;
    launched.program = HEAPTAP_TEST_PROGRAM;
    launched.arguments = {"ending_places", way, places_};
    launched.agent_path = HEAPTAP_TEST_AGENT;
    launched.session = server_.session();
    program_ = *launch::launch(launched);
    auto request = next_request();
    if (request) server_.answer(std::move(request->connection), memory_.get());
    waker_.add(log());
  }
  ~Ended() {
    waker_.remove(log());
    kill(program_.process, SIGKILL);
    if (!reaped_) waitpid(program_.process, nullptr, 0);
    unlink(places_.c_str());
  }
  Ended(const Ended&) = delete;
  Ended& operator=(const Ended&) = delete;

  [[nodiscard]] wire::LogHeader& log() const { return memory_->header(); }
  [[nodiscard]] const LogParts& parts() const { return memory_->parts(); }
  [[nodiscard]] pid_t process() const { return program_.process; }

  std::optional<wire::ExitNotice> notice() {
    constexpr int kStepMs = 20;  // where the kernel has no waker
    for (int waited = 0; waited < kLongMs; waited += kStepMs) {
      if (auto found = take_exit_notice(log())) return found;
      wait_for(waker_.descriptor(), kStepMs);
      waker_.silence();
    }
    return std::nullopt;
  }

  [[nodiscard]] bool ends_within(int milliseconds) const { return wait_for(program_.descriptor.get(), milliseconds); }

  int status() {
    int status = 0;
    if (!ends_within(kLongMs)) return -1;
    waitpid(program_.process, &status, 0);
    reaped_ = true;
    return status;
  }

  // Where main's caller goes on: the CFA of main's frame.
  [[nodiscard]] uint64_t main_cfa() const {
    uint64_t frame = 0;
    std::ifstream(places_) >> frame;
    return frame + 2 * sizeof(uint64_t);
  }

  [[nodiscard]] ExitTurn turn() const { return static_cast<ExitTurn>(log().exit_handshake.turn.load()); }

 private:
  std::optional<supervision::AgentRequest> next_request() {
    for (;;) {
      if (auto request = server_.accept()) return request;
      std::vector<pollfd> waits;
      server_.add_waits(waits);
      if (poll(waits.data(), waits.size(), kLongMs) <= 0) return std::nullopt;
    }
  }
  static bool wait_for(int descriptor, int milliseconds) {
    pollfd news{descriptor, POLLIN, 0};
    return poll(&news, 1, milliseconds) > 0;
  }

  std::string places_;
  supervision::AgentServer server_ = *supervision::AgentServer::create();
  std::unique_ptr<LogMemory> memory_;
  LogWaker waker_;
  launch::Launched program_;
  bool reaped_ = false;
};

struct Way {
  const char* name;
  ExitKind kind;
  int signal;
};

TEST(LogWaker, RingsWhenAnAgentSaysThatALogFills) {
  const auto memory = *LogMemory::create({});
  wire::LogHeader& log = memory->header();
  LogWaker waker;
  waker.add(log);
  pollfd rung{waker.descriptor(), POLLIN, 0};
  constexpr int kStepMs = 10;
  int steps = 1000;
  do {  // it begins to listen soon
    log.rings.fetch_add(1);
    syscall(SYS_futex, &log.rings, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
  } while (poll(&rung, 1, kStepMs) == 0 && --steps > 0);
  EXPECT_GT(steps, 0);
  waker.remove(log);
}

class EveryWay : public testing::TestWithParam<Way> {};

TEST_P(EveryWay, IsOfferedWithItsPlaceAndKeepsItsStatus) {
  Ended program(GetParam().name);
  const auto notice = program.notice();
  ASSERT_TRUE(notice);
  EXPECT_EQ(notice->kind, GetParam().kind);
  EXPECT_EQ(notice->signal, static_cast<uint32_t>(GetParam().signal));
  EXPECT_EQ(notice->thread_id, static_cast<uint32_t>(program.process()));
  constexpr uint64_t kFewFrames = 16384;
  if (notice->kind == ExitKind::kReturn) {
    EXPECT_EQ(notice->live_sp, program.main_cfa());
  } else {
    EXPECT_LT(notice->interrupted_sp, program.main_cfa());
    EXPECT_GT(notice->live_sp, program.main_cfa() - kFewFrames);
  }
  if (notice->kind == ExitKind::kSignal) {
    EXPECT_LT(notice->live_sp, notice->interrupted_sp);
  }
  EXPECT_FALSE(program.ends_within(50)) << "it waits";
  uint64_t word = 0;
  const iovec here{&word, sizeof(word)};
  const iovec there{reinterpret_cast<void*>(notice->live_sp), sizeof(word)};
  EXPECT_EQ(process_vm_readv(program.process(), &here, 1, &there, 1, 0), ssize_t{sizeof(word)});
  EXPECT_TRUE(finish_exit(program.log()));
  const int status = program.status();
  if (GetParam().signal != 0) {
    EXPECT_EQ(WTERMSIG(status), GetParam().signal);
  } else {
    EXPECT_EQ(WEXITSTATUS(status), 3);
  }
}

INSTANTIATE_TEST_SUITE_P(
    ExitHandshake, EveryWay,
    testing::Values(Way{"return", ExitKind::kReturn, 0}, Way{"exit", ExitKind::kExit, 0},
                    Way{"_exit", ExitKind::kDirectExit, 0}, Way{"quick_exit", ExitKind::kQuickExit, 0},
                    Way{"exit_group", ExitKind::kDirectExit, 0}, Way{"term", ExitKind::kSignal, SIGTERM},
                    Way{"abort", ExitKind::kSignal, SIGABRT}, Way{"fault", ExitKind::kSignal, SIGSEGV}),
    [](const auto& way) { return std::string("of_") + way.param.name; });

TEST(ExitHandshake, WaitsAsLongAsTheCollectorIsAtWork) {
  Ended program("return");
  ASSERT_TRUE(program.notice());
  constexpr int kStepMs = 250;
  for (int waited = 0; waited < 3 * static_cast<int>(wire::kExitPatienceMs) / 2; waited += kStepMs) {
    ASSERT_FALSE(program.ends_within(kStepMs));
    show_progress(program.log());
  }
  EXPECT_TRUE(finish_exit(program.log()));
  EXPECT_EQ(WEXITSTATUS(program.status()), 3);
}

TEST(ExitHandshake, GoesOnWithoutACollectorThatWorks) {
  Ended program("term");
  EXPECT_EQ(WTERMSIG(program.status()), SIGTERM);
  EXPECT_EQ(program.turn(), ExitTurn::kGivenUp);
}

TEST(ExitHandshake, TellsAScanThatWasTooSlow) {
  Ended program("return");
  ASSERT_TRUE(program.notice());
  EXPECT_EQ(WEXITSTATUS(program.status()), 3);
  EXPECT_FALSE(finish_exit(program.log()));
}

TEST(ExitHandshake, IsBoundedWhileSignalsInterruptTheWait) {
  Ended program("ticking");
  EXPECT_EQ(WEXITSTATUS(program.status()), 3);
  EXPECT_EQ(program.turn(), ExitTurn::kGivenUp);
}

TEST(ExitHandshake, LetsAReaderInOnRequest) {
  Ended program("return");
  ASSERT_TRUE(program.notice());
  EXPECT_TRUE(ask_access(program.log(), getpid()));
  EXPECT_FALSE(program.ends_within(50)) << "it waits on";
  EXPECT_TRUE(finish_exit(program.log()));
  EXPECT_EQ(WEXITSTATUS(program.status()), 3);
}

TEST(ExitHandshake, ComesWithTheStacksThatTheProgramSetUp) {
  Ended program("stacks");
  ASSERT_TRUE(program.notice());
  const auto areas = read_stack_areas(program.parts());
  ASSERT_EQ(areas.size(), 2u) << "the last alternate stack, and one context's";
  constexpr uint64_t kBytes = 16384;
  for (const wire::StackArea& area : areas) {
    const bool is_context = area.kind == wire::RootKind::kContextStack;
    EXPECT_EQ(area.end - area.begin, kBytes);
    EXPECT_EQ(area.context != 0, is_context);
    EXPECT_EQ(area.thread_id, is_context ? 0u : static_cast<uint32_t>(program.process()));
  }
  EXPECT_NE(areas[0].kind, areas[1].kind);
  EXPECT_TRUE(finish_exit(program.log()));
  EXPECT_EQ(WEXITSTATUS(program.status()), 3);
}

TEST(ExitHandshake, ComesWithTheAgentsOwnMappings) {
  Ended program("return");
  ASSERT_TRUE(program.notice());
  const auto areas = read_own_areas(program.parts());
  EXPECT_GE(areas.size(), 3u) << "tables, a thread's state and its call stack";
  std::ifstream maps("/proc/" + std::to_string(program.process()) + "/maps");
  std::vector<base::AddressRange> mapped;
  for (std::string line; std::getline(maps, line);) {
    char* rest = nullptr;
    const uint64_t begin = strtoull(line.c_str(), &rest, 16);
    mapped.push_back({begin, strtoull(rest + 1, nullptr, 16)});
  }
  for (const base::AddressRange& area : areas) {
    const bool is_mapped = std::ranges::any_of(
        mapped, [&](const base::AddressRange& range) { return range.begin <= area.begin && area.begin < range.end; });
    EXPECT_TRUE(is_mapped) << std::hex << area.begin;
  }
}

TEST(ExitHandshake, IsNotOfferedUnasked) {
  Ended program("return", 0);
  EXPECT_EQ(WEXITSTATUS(program.status()), 3);
  EXPECT_EQ(program.turn(), ExitTurn::kNone);
}

}  // namespace
}  // namespace heaptap::log
