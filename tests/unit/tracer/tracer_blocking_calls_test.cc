// Threads that wait in a system call are left there when a tracer attaches and
// detaches: they are not even woken.
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <set>

#include "blocking_calls.h"
#include "capture/log/log_memory.h"
#include "capture/tracer/tracer_client.h"
#include "common/base/small_file.h"

namespace heaptap::tracer {
namespace {

constexpr int kTimeLimitMs = 3000;

// How often the process gave up its CPU or had to: it grows with each wake.
long switches(pid_t process) {
  const std::string text = base::read_small_file("/proc/" + std::to_string(process) + "/status");
  long sum = 0;
  for (size_t at = text.find("ctxt_switches:"); at != std::string::npos; at = text.find("ctxt_switches:", at + 1)) {
    sum += std::strtol(text.c_str() + text.find(':', at) + 1, nullptr, 10);
  }
  return sum;
}

class Session {
 public:
  explicit Session(TracerClient& line) : line_(line) {}

  // Until all these are traced, and then until none is.
  void attach_and_detach(const std::set<pid_t>& processes) {
    for (const pid_t process : processes) line_.attach(process);
    await([&] { return attached_.size() + failed_.size() == processes.size(); });
    line_.detach_all();
    await([&] { return left_.size() + failed_.size() == processes.size(); });
    EXPECT_TRUE(failed_.empty()) << failed_.begin()->second;
  }

 private:
  template <typename Condition>
  void await(Condition done) {
    ASSERT_TRUE(test::wait_for("the tracer has done what it was asked for", [&] {
      take_messages();
      return testing::Test::HasFatalFailure() || done();
    }));
  }
  void take_messages() {
    while (auto message = line_.receive()) {
      ASSERT_FALSE(std::holds_alternative<TracerGone>(*message));
      if (const auto* wanted = std::get_if<LogWanted>(&*message)) give(wanted->process);
      if (const auto* attached = std::get_if<Attached>(&*message)) attached_.insert(attached->process);
      if (const auto* not_attached = std::get_if<NotAttached>(&*message))
        failed_[not_attached->process] = not_attached->text;
      if (const auto* left = std::get_if<Left>(&*message)) left_.insert(left->process);
    }
  }
  void give(pid_t process) {
    log::LogOptions options;
    options.chunk_memory_bytes = 1u << 20;
    logs_.push_back(*log::LogMemory::create(options));
    ASSERT_TRUE(logs_.back());
    line_.give_log(process, *logs_.back());
  }

  TracerClient& line_;
  std::deque<std::unique_ptr<log::LogMemory>> logs_;
  std::set<pid_t> attached_, left_;
  std::map<pid_t, std::string> failed_;
};

// Given processes in all the calls, when all are attached to and let go, then
// none was woken, and the calls' outcomes are as without that.
TEST(TracerAndBlockingCalls, NoneIsWokenByAttachAndDetach) {
  test::set_time_limit(kTimeLimitMs);
  std::deque<test::WaitingProcess> waiting;
  for (const auto calls : {test::calls_for_descriptors(), test::calls_of_sockets(), test::other_calls()}) {
    for (const test::BlockingCall& call : calls) waiting.emplace_back(call);
  }
  std::set<pid_t> processes;
  std::map<pid_t, long> before;
  for (const test::WaitingProcess& process : waiting) {
    ASSERT_TRUE(process.wait_until_blocked()) << process.blocking().name;
    processes.insert(process.id());
    before[process.id()] = switches(process.id());
  }
  auto line = TracerClient::start({});
  ASSERT_TRUE(line.has_value()) << line.error().message;
  Session(**line).attach_and_detach(processes);
  for (test::WaitingProcess& process : waiting) {
    // One whose time limit is over has woken by itself.
    if (!process.wait_until_blocked()) continue;
    EXPECT_EQ(switches(process.id()), before[process.id()]) << process.blocking().name;
  }
  for (test::WaitingProcess& process : waiting)
    EXPECT_EQ(process.end(), process.blocking().expected) << process.blocking().name;
}

}  // namespace
}  // namespace heaptap::tracer
