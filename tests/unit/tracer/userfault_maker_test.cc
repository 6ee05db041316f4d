// A userfaultfd that another process is made to make: it sees nothing of it, and what it waits in goes on as if nothing had been.
#include "capture/tracer/userfault_maker.h"

#include <gtest/gtest.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include <csignal>
#include <set>
#include <string>

#include "blocking_calls.h"
#include "capture/process/open_files.h"
#include "capture/process/process_status.h"
#include "child_process.h"
#include "common/base/small_file.h"
#include "common/base/status_file.h"

namespace heaptap::tracer {
namespace {

using test::ChildProcess;

std::set<std::string> open_files_of(pid_t process) {
  std::set<std::string> files;
  process::any_open(process, [&](const char* number, std::string_view target) {
    files.insert(std::string(number) + " " + std::string(target));
    return false;
  });
  return files;
}

// What this machine refuses to each program, it refuses here: by its kernel, or a filter.
bool is_refused(const base::Result<base::UniqueFd>& made) {
  return !made && made.error().message.find("can't make a userfaultfd") != std::string::npos;
}

TEST(UserfaultMaker, LeavesNoDescriptorInTheProcess) {
  ChildProcess child([](int out) {
    [[maybe_unused]] const ssize_t sent = write(out, "x", 1);
    for (;;) pause();
  });
  char ready;
  ASSERT_TRUE(child.receive(ready));
  const std::set<std::string> before = open_files_of(child.id());
  const auto made = make_userfault_of(child.id());
  if (is_refused(made)) GTEST_SKIP() << made.error().message;
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(open_files_of(child.id()), before);
  EXPECT_EQ(process::read_thread_status(child.id())->tracer, 0);
  EXPECT_TRUE(test::wait_for_state(child.id(), "S"));
}

void expect_unharmed(std::span<const test::BlockingCall> calls) {
  for (const test::BlockingCall& blocking : calls) {
    SCOPED_TRACE(blocking.name);
    test::WaitingProcess process(blocking);
    for (unsigned i = 0; i < 3 && process.wait_until_blocked(); ++i) {
      const auto made = make_userfault_of(process.id());
      if (is_refused(made)) GTEST_SKIP() << made.error().message;
      const bool has_timed_out = !made && blocking.wake == nullptr && !process.wait_until_blocked();
      if (has_timed_out) break;
      ASSERT_TRUE(made) << made.error().message;
    }
    EXPECT_EQ(process.end(), blocking.expected);
  }
}

TEST(UserfaultMaker, HarmsNoCallOnDescriptors) { expect_unharmed(test::calls_for_descriptors()); }
TEST(UserfaultMaker, HarmsNoCallOfSockets) { expect_unharmed(test::calls_of_sockets()); }
TEST(UserfaultMaker, HarmsNoOtherCall) { expect_unharmed(test::other_calls()); }

TEST(UserfaultMaker, RefusesWhereAFilterMightKill) {
  ChildProcess child([](int out) {
    [[maybe_unused]] const ssize_t sent = write(out, "x", 1);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    for (;;) asm volatile("");
  });
  char ready;
  ASSERT_TRUE(child.receive(ready));
  const auto is_filtered = [&] {
    const std::string status = base::read_small_file("/proc/" + std::to_string(child.id()) + "/status");
    return base::status_number(status, "Seccomp").value_or(0) != 0;
  };
  ASSERT_TRUE(test::wait_for("the child is in strict mode", is_filtered, child.id()));
  const auto made = make_userfault_of(child.id());
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find("seccomp"), std::string::npos) << made.error().message;
  EXPECT_EQ(process::read_thread_status(child.id())->state, 'R');
}

TEST(UserfaultMaker, LeavesAStoppedProcessStopped) {
  ChildProcess child([](int) {
    raise(SIGSTOP);
    for (;;) pause();
  });
  ASSERT_TRUE(test::wait_for_state(child.id(), "T"));
  EXPECT_FALSE(make_userfault_of(child.id()));
  EXPECT_TRUE(test::wait_for_state(child.id(), "T"));
}

TEST(UserfaultMaker, SaysThatThereIsNoProcess) {
  const auto made = make_userfault_of(1 << 30);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message, "no process 1073741824");
}

}  // namespace
}  // namespace heaptap::tracer
