// The last look that a program's end offers: the agent's threads on one side, a collector on the other.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <optional>
#include <thread>

#include "agent/core/exit_request.h"
#include "agent/core/session.h"
#include "at_once.h"
#include "capture/log/exit_responder.h"
#include "capture/log/log_memory.h"
#include "core_platform.h"

namespace heaptap {
namespace {

using wire::ExitTurn;

constexpr uint32_t kThreads = 4;

// The session of this process, begun anew for each handshake.
class Session {
 public:
  Session() {
    agent::Session& session = agent::g_session;
    session.layout.log = static_cast<const wire::LogLayout&>(log());
    session.log = &log();
    session.process = getpid();
    session.flags = wire::kScanAtEnd;
    agent::g_session_page.exiting_thread.store(0);
    agent::g_session_page.exit_start.store(0);
    agent::g_session_page.state.store(agent::SessionState::kRecording);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  [[nodiscard]] wire::LogHeader& log() const { return memory_->header(); }
  [[nodiscard]] ExitTurn turn() const { return static_cast<ExitTurn>(log().exit_handshake.turn.load()); }

 private:
  const test::KeptSession before_;
  std::unique_ptr<log::LogMemory> memory_ = *log::LogMemory::create({});
};

wire::ExitNotice notice_of(uint32_t thread) {
  const uint64_t sp = 0x7000'0000 + thread * 0x1000;
  return {.kind = wire::ExitKind::kExit,
          .thread_id = 0,
          .live_sp = sp,
          .interrupted_sp = sp,
          .signal = thread,
          .status = wire::exit_with(thread)};
}

TEST(ExitRequest, OneOfSeveralThreadsOffersAndTheOthersWaitForIt) {
  for (int round = 0; round < 8; ++round) {
    const Session session;
    std::atomic<bool> is_finished{false};
    std::atomic<uint32_t> early{0};
    std::atomic<uint32_t> taken{0};
    test::run_at_once(kThreads + 1, [&](uint32_t thread) {
      if (thread < kThreads) {
        agent::offer_scan(notice_of(thread));
        if (!is_finished.load()) ++early;
        return;
      }
      std::optional<wire::ExitNotice> notice;
      while (!(notice = log::take_exit_notice(session.log()))) std::this_thread::yield();
      ++taken;
      EXPECT_LT(notice->signal, kThreads);
      EXPECT_EQ(notice->live_sp, notice_of(notice->signal).live_sp);
      EXPECT_EQ(notice->interrupted_sp, notice->live_sp);
      EXPECT_EQ(notice->thread_id, agent::g_session_page.exiting_thread.load());
      EXPECT_FALSE(log::take_exit_notice(session.log())) << "it is offered once";
      EXPECT_TRUE(log::ask_access(session.log(), getpid())) << "the agent answers";
      is_finished.store(true);
      EXPECT_TRUE(log::finish_exit(session.log()));
    });
    EXPECT_EQ(early.load(), 0u);
    EXPECT_EQ(taken.load(), 1u);
    EXPECT_EQ(session.turn(), ExitTurn::kDone);
  }
}

constexpr uint64_t kExitSp = 0x7000'5000;

wire::ExitNotice next_notice(const Session& session) {
  std::optional<wire::ExitNotice> notice;
  while (!(notice = log::take_exit_notice(session.log()))) std::this_thread::yield();
  return *notice;
}

TEST(ExitRequest, AScanBeforeTheHandlersIsOfferedOnceAndThatOfTheEndComesAfterIt) {
  const Session session;
  std::jthread collector([&] {
    const wire::ExitNotice start = next_notice(session);
    EXPECT_EQ(start.kind, wire::ExitKind::kExitBegins);
    EXPECT_EQ(start.live_sp, kExitSp);
    EXPECT_EQ(start.status, 0u);
    EXPECT_TRUE(log::ask_access(session.log(), getpid())) << "the agent answers";
    EXPECT_TRUE(log::finish_exit(session.log()));
    EXPECT_EQ(next_notice(session).kind, wire::ExitKind::kExit);
    EXPECT_TRUE(log::finish_exit(session.log()));
  });
  agent::offer_scan_before_handlers(kExitSp);
  EXPECT_EQ(session.turn(), ExitTurn::kNone) << "the program continues";
  agent::offer_scan_before_handlers(kExitSp);
  EXPECT_EQ(session.turn(), ExitTurn::kNone) << "exit was called by a handler";
  agent::offer_scan(notice_of(1));
  EXPECT_EQ(session.turn(), ExitTurn::kDone);
}

void decline_next(const Session& session, wire::ExitKind kind) {
  EXPECT_EQ(next_notice(session).kind, kind);
  log::decline_exit(session.log());
}

TEST(ExitRequest, WhatIsDeclinedIsForgotten) {
  const Session session;
  std::jthread collector([&] {
    decline_next(session, wire::ExitKind::kExitBegins);
    decline_next(session, wire::ExitKind::kExit);
    EXPECT_EQ(next_notice(session).kind, wire::ExitKind::kExitBegins);
    EXPECT_TRUE(log::finish_exit(session.log()));
    EXPECT_EQ(next_notice(session).kind, wire::ExitKind::kExit);
    EXPECT_TRUE(log::finish_exit(session.log()));
  });
  agent::offer_scan_before_handlers(kExitSp);
  EXPECT_FALSE(agent::offer_scan(notice_of(1)));
  EXPECT_EQ(session.turn(), ExitTurn::kNone);
  EXPECT_EQ(agent::g_session_page.exiting_thread.load(), 0u);
  agent::offer_scan_before_handlers(kExitSp);
  EXPECT_TRUE(agent::offer_scan(notice_of(2)));
  EXPECT_EQ(session.turn(), ExitTurn::kDone);
}

TEST(ExitRequest, WhoWaitsForOneThatIsDeclinedOffersHisOwn) {
  for (int round = 0; round < 8; ++round) {
    const Session session;
    std::atomic<uint32_t> declined{0};
    test::run_at_once(kThreads + 1, [&](uint32_t thread) {
      if (thread < kThreads) {
        declined += agent::offer_scan(notice_of(thread)) ? 0 : 1;
        return;
      }
      for (unsigned i = 1; i < kThreads; ++i) decline_next(session, wire::ExitKind::kExit);
      next_notice(session);
      EXPECT_TRUE(log::finish_exit(session.log()));
    });
    EXPECT_EQ(declined.load(), kThreads - 1);
    EXPECT_EQ(session.turn(), ExitTurn::kDone);
  }
}

TEST(ExitRequest, AThreadThatEndsTheProcessEndsTheScanBeforeTheHandlers) {
  const Session session;
  std::atomic<bool> is_taken{false};
  std::jthread collector([&] {
    EXPECT_EQ(next_notice(session).kind, wire::ExitKind::kExitBegins);
    is_taken.store(true);
    while (log::waits_at_exit(session.log())) std::this_thread::yield();
    EXPECT_FALSE(log::finish_exit(session.log())) << "what was read is worthless";
    EXPECT_EQ(next_notice(session).kind, wire::ExitKind::kExit);
    EXPECT_TRUE(log::finish_exit(session.log()));
  });
  std::jthread exits([] { agent::offer_scan_before_handlers(kExitSp); });
  while (!is_taken.load()) std::this_thread::yield();
  agent::offer_scan(notice_of(2));
  EXPECT_EQ(session.turn(), ExitTurn::kDone);
}

TEST(ExitRequest, WithoutACollectorTheProgramContinuesAndTheEndIsOfferedAllTheSame) {
  const Session session;
  agent::offer_scan_before_handlers(kExitSp);
  EXPECT_EQ(session.turn(), ExitTurn::kNone);
  std::jthread collector([&] {
    EXPECT_EQ(next_notice(session).kind, wire::ExitKind::kExit);
    EXPECT_TRUE(log::finish_exit(session.log()));
  });
  agent::offer_scan(notice_of(3));
  EXPECT_EQ(session.turn(), ExitTurn::kDone);
}

TEST(ExitRequest, AfterTheScanOfTheEndNoneBeforeTheHandlersIsOffered) {
  const Session session;
  std::jthread collector([&] {
    (void)next_notice(session);
    EXPECT_TRUE(log::finish_exit(session.log()));
  });
  agent::offer_scan(notice_of(1));
  agent::offer_scan_before_handlers(kExitSp);
  EXPECT_EQ(session.turn(), ExitTurn::kDone);
}

}  // namespace
}  // namespace heaptap
