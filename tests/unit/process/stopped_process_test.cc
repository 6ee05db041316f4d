// A process that is stopped from outside: it stands still, its registers are known, and afterwards it goes on as before.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "capture/process/stopped_process.h"
#include "child_process.h"

namespace heaptap::process {
namespace {

using test::ChildProcess;

const std::string& error_of(const base::Result<StoppedProcess>& result) { return result.error().message; }

TEST(StoppedProcess, RefusesAProcessThatIsNotThere) {
  const auto result = StoppedProcess::stop(1 << 30);
  ASSERT_FALSE(result);
  EXPECT_EQ(error_of(result), "no process 1073741824");
}

TEST(StoppedProcess, RefusesOneThatHasEnded) {
  ChildProcess child([](int) {});
  ASSERT_TRUE(test::wait_for_state(child.id(), "Z"));
  const auto result = StoppedProcess::stop(child.id());
  ASSERT_FALSE(result);
  EXPECT_EQ(error_of(result), "process " + std::to_string(child.id()) + " has ended");
  EXPECT_EQ(child.wait(), 0);
}

TEST(StoppedProcess, NamesTheTracerOfOneThatIsTraced) {
  ChildProcess traced([](int) { pause(); });
  ChildProcess tracer([&](int out) {
    ptrace(PTRACE_SEIZE, traced.id(), nullptr, nullptr);
    [[maybe_unused]] const ssize_t sent = write(out, "x", 1);
    pause();
  });
  char ready;
  ASSERT_TRUE(tracer.receive(ready));
  const auto result = StoppedProcess::stop(traced.id());
  ASSERT_FALSE(result);
  EXPECT_NE(error_of(result).find("process " + std::to_string(tracer.id()) + " ("), std::string::npos);
}

TEST(StoppedProcess, StandsStillUntilItIsReleased) {
  void* memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* count = new (memory) std::atomic<uint64_t>(0);
  ChildProcess child([&](int) {
    for (;;) count->fetch_add(1);
  });
  ASSERT_TRUE(test::wait_for("the child counts", [&] { return count->load() != 0; }, child.id()));
  auto stopped = StoppedProcess::stop(child.id());
  ASSERT_TRUE(stopped) << error_of(stopped);
  const auto since = std::chrono::steady_clock::now();
  const uint64_t before = count->load();
  EXPECT_EQ(read_thread_status(child.id())->state, 't');
  EXPECT_EQ(count->load(), before);
  const std::chrono::nanoseconds passed = std::chrono::steady_clock::now() - since;
  EXPECT_GE(stopped->stopped_ns(), static_cast<uint64_t>(passed.count()));
  stopped->release();
  const uint64_t duration = stopped->stopped_ns();
  ASSERT_TRUE(test::wait_for("the child counts on", [&] { return count->load() != before; }, child.id()));
  EXPECT_EQ(stopped->stopped_ns(), duration);
}

TEST(StoppedProcess, GoesOnWhenItsOwnerIsKilled) {
  void* memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* count = new (memory) std::atomic<uint64_t>(0);
  ChildProcess child([&](int) {
    for (;;) count->fetch_add(1);
  });
  {
    ChildProcess owner([&](int out) {
      const auto stopped = StoppedProcess::stop(child.id());
      const char ready = stopped ? 'y' : 'n';
      [[maybe_unused]] const ssize_t sent = write(out, &ready, 1);
      pause();
    });
    char ready = 0;
    ASSERT_TRUE(owner.receive(ready));
    ASSERT_EQ(ready, 'y');
  }
  const uint64_t before = count->load();
  EXPECT_TRUE(test::wait_for("the child counts on", [&] { return count->load() != before; }, child.id()));
}

TEST(StoppedProcess, KnowsAllThreadsAndTheirRegisters) {
  constexpr unsigned kThreads = 20;
  ChildProcess child([](int out) {
    std::vector<std::thread> threads;
    std::atomic<unsigned> started = 0;
    for (unsigned i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        ++started;
        for (;;) pause();
      });
    }
    while (started < kThreads) usleep(100);
    [[maybe_unused]] const ssize_t sent = write(out, "x", 1);
    pause();
  });
  char ready;
  ASSERT_TRUE(child.receive(ready));
  const auto stopped = StoppedProcess::stop(child.id());
  ASSERT_TRUE(stopped) << error_of(stopped);
  EXPECT_EQ(stopped->threads().size(), kThreads + 1);
  for (const StoppedThread& thread : stopped->threads()) {
    EXPECT_TRUE(thread.registers_known);
    EXPECT_NE(thread.stack_pointer, 0u);
    EXPECT_NE(thread.program_counter, 0u);
    EXPECT_NE(thread.thread_pointer, 0u);
  }
}

bool has_register(const StoppedProcess& stopped, uint64_t value, uint16_t number) {
  for (const wire::RootWord& word : stopped.threads().front().registers) {
    if (word.value == value && word.register_number == number) return true;
  }
  return false;
}

TEST(StoppedProcess, KnowsGeneralAndVectorRegisters) {
  constexpr uint64_t kGeneral = 0x123456789abc;
  constexpr uint64_t kVector[] = {0x111122223333, 0x111122224444};
  ChildProcess child([&](int out) {
    [[maybe_unused]] const ssize_t sent = write(out, "x", 1);
    asm volatile(
        "movdqu (%0), %%xmm9\n"
        "1: jmp 1b"
        :
        : "r"(kVector), "b"(kGeneral)
        : "xmm9");
  });
  char ready;
  ASSERT_TRUE(child.receive(ready));
  for (;;) {
    const auto stopped = StoppedProcess::stop(child.id());
    ASSERT_TRUE(stopped) << error_of(stopped);
    if (!has_register(*stopped, kGeneral, 3)) continue;  // it isn't there yet
    if (!has_register(*stopped, kVector[0], 17 + 9)) continue;
    EXPECT_TRUE(has_register(*stopped, kVector[1], 17 + 9));
    break;
  }
}

TEST(StoppedProcess, WhoseLeaderHasExitedIsStoppedAsWell) {
  ChildProcess child([](int) {
    std::thread([] {
      for (;;) pause();
    }).detach();
    syscall(SYS_exit, 0);
  });
  ASSERT_TRUE(test::wait_for_state(child.id(), "Z"));
  const auto stopped = StoppedProcess::stop(child.id());
  ASSERT_TRUE(stopped) << error_of(stopped);
  EXPECT_EQ(stopped->threads().size(), 1u);
  EXPECT_NE(stopped->live_thread(), child.id());
}

TEST(StoppedProcess, ThatWasStoppedBeforeStaysSo) {
  ChildProcess child([](int) {
    for (;;) pause();
  });
  kill(child.id(), SIGSTOP);
  ASSERT_TRUE(test::wait_for_state(child.id(), "T"));
  for (int i = 0; i < 10; ++i) {
    const auto stopped = StoppedProcess::stop(child.id());
    ASSERT_TRUE(stopped) << error_of(stopped);
    EXPECT_TRUE(stopped->threads().front().registers_known);
  }
  ASSERT_TRUE(test::wait_for_state(child.id(), "T"));
  kill(child.id(), SIGCONT);
  EXPECT_TRUE(test::wait_for_state(child.id(), "S"));
}

TEST(StoppedProcess, ThatIsContinuedMeanwhileGoesOn) {
  ChildProcess child([](int) {
    for (;;) pause();
  });
  kill(child.id(), SIGSTOP);
  ASSERT_TRUE(test::wait_for_state(child.id(), "T"));
  auto stopped = StoppedProcess::stop(child.id());
  ASSERT_TRUE(stopped) << error_of(stopped);
  kill(child.id(), SIGCONT);
  stopped->release();
  EXPECT_TRUE(test::wait_for_state(child.id(), "S"));
}

TEST(StoppedProcess, GetsSignalsThatCameMeanwhile) {
  ChildProcess child([](int) {
    for (;;) pause();
  });
  ASSERT_TRUE(test::wait_for_state(child.id(), "S"));
  auto stopped = StoppedProcess::stop(child.id());
  ASSERT_TRUE(stopped) << error_of(stopped);
  kill(child.id(), SIGTERM);
  stopped->release();
  const int status = child.wait();
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

TEST(StoppedProcess, ThatIsKilledMeanwhileIsNoTrouble) {
  ChildProcess child([](int) {
    std::thread([] {
      for (;;) pause();
    }).detach();
    for (;;) pause();
  });
  ASSERT_TRUE(test::wait_for_state(child.id(), "S"));
  auto stopped = StoppedProcess::stop(child.id());
  ASSERT_TRUE(stopped) << error_of(stopped);
  kill(child.id(), SIGKILL);
  stopped->release();
  const int status = child.wait();
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

TEST(StoppedProcess, WaitsNotForAThreadThatWaitsForAVforkedChild) {
  int hold[2];
  ASSERT_EQ(pipe(hold), 0);
  ChildProcess child([&](int out) {
    close(hold[1]);
    if (vfork() == 0) {  // NOLINT(bugprone-unsafe-functions): a parent that waits like this is what is tested
      [[maybe_unused]] const ssize_t sent = write(out, "x", 1);
      char byte;
      [[maybe_unused]] const ssize_t got = read(hold[0], &byte, 1);
      _exit(0);
    }
    [[maybe_unused]] const ssize_t sent = write(out, "y", 1);
    pause();
  });
  char ready = 0;
  ASSERT_TRUE(child.receive(ready));
  {
    const auto stopped = StoppedProcess::stop(child.id());
    ASSERT_TRUE(stopped) << error_of(stopped);
    ASSERT_EQ(stopped->threads().size(), 1u);
    EXPECT_FALSE(stopped->threads().front().registers_known);
    EXPECT_NE(stopped->threads().front().stack_pointer, 0u);
  }
  close(hold[0]);
  close(hold[1]);
  ASSERT_TRUE(child.receive(ready));
  EXPECT_EQ(ready, 'y');
}

// --- A busy program under a storm of stops: what it computes and what it forks is right, and it loses no signal.

std::atomic<uint64_t> signals_seen;

struct Findings {
  uint64_t threads_made = 0;
  uint64_t forks_failed = 0;
  uint64_t signals_sent = 0;
  uint64_t signals_seen = 0;
  uint64_t calls_failed = 0;
};

void make_threads(const std::atomic<bool>& stop, std::atomic<uint64_t>& made) {
  while (!stop) {
    std::thread([&] { ++made; }).join();
  }
}

void make_children(const std::atomic<bool>& stop, std::atomic<uint64_t>& failed) {
  while (!stop) {
    const pid_t child = fork();
    if (child == 0) _exit(7);
    int status = 0;
    pid_t ended = -1;
    do {
      ended = waitpid(child, &status, 0);
    } while (ended < 0 && errno == EINTR);
    if (ended != child || !WIFEXITED(status) || WEXITSTATUS(status) != 7) ++failed;
  }
}

void signal_itself(const std::atomic<bool>& stop, uint64_t& sent) {
  while (!stop) {
    raise(SIGUSR2);
    ++sent;
  }
}

// Passes a byte around: every call must move exactly one.
void pass_bytes(const std::atomic<bool>& stop, std::atomic<uint64_t>& failed, int in, int out) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  char byte = 0;
  while (!stop) {
    if (read(in, &byte, 1) != 1 || write(out, &byte, 1) != 1) ++failed;
  }
  [[maybe_unused]] const ssize_t sent = write(out, &byte, 1);
}

Findings be_busy(int until_closed) {
  signal(SIGUSR2, [](int) { ++signals_seen; });
  signal(SIGPROF, [](int) {});
  const itimerval often{{0, 1000}, {0, 1000}};
  setitimer(ITIMER_PROF, &often, nullptr);
  std::atomic<bool> stop = false;
  std::atomic<uint64_t> made = 0;
  std::atomic<uint64_t> failed_forks = 0;
  std::atomic<uint64_t> failed_calls = 0;
  Findings findings;
  int there[2];
  int back[2];
  if (pipe(there) != 0 || pipe(back) != 0 || write(there[1], "x", 1) != 1) return findings;
  std::vector<std::thread> threads;
  threads.emplace_back([&] { make_threads(stop, made); });
  threads.emplace_back([&] { make_threads(stop, made); });
  threads.emplace_back([&] { make_children(stop, failed_forks); });
  threads.emplace_back([&] { signal_itself(stop, findings.signals_sent); });
  threads.emplace_back([&] { pass_bytes(stop, failed_calls, there[0], back[1]); });
  threads.emplace_back([&] { pass_bytes(stop, failed_calls, back[0], there[1]); });
  char byte;
  while (read(until_closed, &byte, 1) < 0 && errno == EINTR) continue;
  stop = true;
  for (std::thread& thread : threads) thread.join();
  findings.threads_made = made;
  findings.forks_failed = failed_forks;
  findings.signals_seen = signals_seen;
  findings.calls_failed = failed_calls;
  return findings;
}

TEST(StoppedProcess, SurvivesAStormOfStops) {
  int end[2];
  ASSERT_EQ(pipe(end), 0);
  ChildProcess child([&](int out) {
    close(end[1]);
    const Findings findings = be_busy(end[0]);
    [[maybe_unused]] const ssize_t sent = write(out, &findings, sizeof(findings));
  });
  for (int i = 0; i < 200; ++i) {
    const auto stopped = StoppedProcess::stop(child.id());
    ASSERT_TRUE(stopped) << error_of(stopped);
    EXPECT_GE(stopped->threads().size(), 1u);
  }
  close(end[0]);
  close(end[1]);
  Findings findings;
  ASSERT_TRUE(child.receive(findings));
  EXPECT_GT(findings.threads_made, 0u);
  EXPECT_EQ(findings.forks_failed, 0u);
  EXPECT_GT(findings.signals_sent, 0u);
  EXPECT_EQ(findings.signals_seen, findings.signals_sent);
  EXPECT_EQ(findings.calls_failed, 0u);
  EXPECT_EQ(child.wait(), 0);
}

}  // namespace
}  // namespace heaptap::process
