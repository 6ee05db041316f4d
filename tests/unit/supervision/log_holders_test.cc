// The search for processes that may still request a log, among children of the test's own.
#include "capture/supervision/log_holders.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <memory>
#include <string>

#include "child_process.h"
#include "waiting.h"

namespace heaptap::supervision {
namespace {

constexpr char kSession[] = "heaptap-0123:456789";

class LogHoldersTest : public testing::Test {
 protected:
  LogHoldersTest() { holders_.add(getpid(), *log_); }

  // Of a child that tells that it is there, and stays.
  [[nodiscard]] std::function<void(int)> body(bool keeps_log) const {
    return [this, keeps_log](int told) {
      if (!keeps_log) munmap(&log_->header(), log_->bytes());
      if (write(told, "", 1) != 1) _exit(1);
      while (true) pause();
    };
  }
  // Any other process that is being executed just now may be one.
  [[nodiscard]] bool has_none() {
    return test::wait_for("none is left", [this] { return !holders_.are_there(); });
  }
  static void wait_for(const test::ChildProcess& child) {
    char byte = 0;
    ASSERT_TRUE(child.receive(byte));
  }

  std::unique_ptr<log::LogMemory> log_ = *log::LogMemory::create(log::LogOptions{});
  LogHolders holders_{kSession};
};

TEST_F(LogHoldersTest, AChildWithTheLogIsOneUntilItsEnd) {
  const test::ChildProcess child(body(true));
  wait_for(child);
  EXPECT_TRUE(holders_.are_there());
  std::vector<pollfd> waits;
  EXPECT_TRUE(test::wait_for("the child is the only one", [&] {
    EXPECT_TRUE(holders_.are_there());
    waits.clear();
    holders_.add_waits(waits);
    return waits.size() == 1;
  }));
  kill(child.id(), SIGKILL);
  ASSERT_TRUE(test::wait_for_state(child.id(), "Z"));
  EXPECT_TRUE(has_none());
}

TEST_F(LogHoldersTest, AChildWithoutTheLogIsNone) {
  const test::ChildProcess child(body(false));
  wait_for(child);
  EXPECT_TRUE(has_none());
}

TEST_F(LogHoldersTest, AChildOfADetachedProcessIsNone) {
  const test::ChildProcess child(body(true));
  wait_for(child);
  holders_.remove(getpid());
  EXPECT_TRUE(has_none());
}

// Its agent is not loaded yet, or it would have removed the session from there.
TEST_F(LogHoldersTest, AProgramWithTheSessionInItsEnvironmentIsOne) {
  for (const bool is_ours : {true, false}) {
    SCOPED_TRACE(is_ours);
    std::string variable = std::string("HEAPTAP_SESSION=") + kSession;
    if (!is_ours) variable.back() = 'x';
    const test::ChildProcess child([&variable](int) {
      char name[] = "sleep";
      char time[] = "1000";
      char* const words[] = {name, time, nullptr};
      char* const environment[] = {variable.data(), nullptr};
      execve("/bin/sleep", words, environment);
      _exit(1);
    });
    const std::string file = "/proc/" + std::to_string(child.id()) + "/environ";
    const auto runs = [&] { return base::read_small_file(file).starts_with(variable); };
    ASSERT_TRUE(test::wait_for("it is executed", runs, child.id()));
    EXPECT_TRUE(is_ours ? holders_.are_there() : has_none());
  }
}

}  // namespace
}  // namespace heaptap::supervision
