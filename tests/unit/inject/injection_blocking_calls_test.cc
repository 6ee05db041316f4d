// Threads that wait in a system call while the agent is put in and taken out: each call ends as it would have, and its time limit doesn't
// begin anew. Processes of one thread: that one has to make the injector's calls, or the injection is refused.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <deque>
#include <map>
#include <set>
#include <string>
#include <thread>

#include "blocking_calls.h"
#include "capture/inject/injection.h"
#include "capture/log/log_memory.h"
#include "capture/process/memory_map.h"
#include "common/base/wait_status.h"

#if defined(HEAPTAP_INJECTED_AGENT) && defined(__x86_64__)

namespace heaptap::inject {
namespace {

using Clock = std::chrono::steady_clock;

// A limit that began anew would be over after ten seconds and a half at the earliest. An injection that finds no thread for its calls
// gives up three seconds after it has begun, before any limit is over.
constexpr int kTimeLimitMs = 8000;
constexpr std::chrono::milliseconds kInjectedAfter{2500};
constexpr std::chrono::milliseconds kLimitsAreOver{9700};

// Calls that go on after a stop. The others refuse the injection.
const std::set<std::string> kPossible = {"accept",
                                         "clock_nanosleep until",
                                         "epoll_pwait",
                                         "epoll_wait",
                                         "epoll_wait, ended by a signal",
                                         "futex",
                                         "futex with timeout",
                                         "nanosleep",
                                         "pause",
                                         "poll",
                                         "poll with timeout",
                                         "ppoll with timeout",
                                         "pselect with timeout",
                                         "read of a pipe",
                                         "read of a signalfd",
                                         "read of a timerfd",
                                         "read of an eventfd",
                                         "recv",
                                         "select",
                                         "wait4",
                                         "waitid"};

enum Result : int { kDone, kRefused, kStays };

// In a process of its own, beside others.
Result put_in_and_take_out(pid_t process, const AgentImage& image) {
  log::LogOptions options;
  options.overflow_policy = wire::OverflowPolicy::kDrop;
  options.chunk_memory_bytes = 1u << 20;
  const auto log = log::LogMemory::create(options);
  const auto injection = Injection::plan(process, image);
  if (!log || !injection) return kRefused;
  if (!(*injection)->put_in({(*log)->descriptor(), (*log)->bytes(), &(*log)->parts()})) return kRefused;
  return (*injection)->patch() && (*injection)->unpatch() && (*injection)->take_out() ? kDone : kStays;
}

bool has_log(pid_t process) {
  const auto map = process::read_memory_map(process);
  return std::ranges::any_of(
      map, [](const process::Mapping& mapping) { return mapping.name.find(log::kLogName) != std::string::npos; });
}

TEST(InjectionAndBlockingCalls, NoneEndsOtherwise) {
  const auto image = AgentImage::read(HEAPTAP_INJECTED_AGENT);
  ASSERT_TRUE(image) << image.error().message;
  test::set_time_limit(kTimeLimitMs);
  const auto begun = Clock::now();
  std::deque<test::WaitingProcess> waiting;
  for (const auto calls : {test::calls_for_descriptors(), test::calls_of_sockets(), test::other_calls()}) {
    for (const test::BlockingCall& call : calls) waiting.emplace_back(call);
  }
  for (const test::WaitingProcess& process : waiting)
    ASSERT_TRUE(process.wait_until_blocked()) << process.blocking().name;
  std::this_thread::sleep_until(begun + kInjectedAfter);
  std::map<pid_t, const test::WaitingProcess*> injectors;
  for (const test::WaitingProcess& process : waiting) {
    const pid_t injector = fork();
    if (injector == 0) _exit(put_in_and_take_out(process.id(), *image));
    injectors[injector] = &process;
  }
  for (const auto& [injector, process] : injectors) {
    const auto status = base::wait_for(injector);
    ASSERT_TRUE(status && status->has_exited());
    const std::string name = process->blocking().name;
    EXPECT_NE(status->exit_code(), kStays) << name;
    EXPECT_TRUE(status->exit_code() == kDone || !kPossible.contains(name)) << name;
    EXPECT_FALSE(has_log(process->id())) << name;
  }
  std::this_thread::sleep_until(begun + kLimitsAreOver);
  for (test::WaitingProcess& process : waiting) {
    const bool is_limited = !process.blocking().wake;
    EXPECT_FALSE(is_limited && process.wait_until_blocked()) << process.blocking().name << ": its limit began anew";
    EXPECT_EQ(process.end(), process.blocking().expected) << process.blocking().name;
  }
}

}  // namespace
}  // namespace heaptap::inject

#endif
