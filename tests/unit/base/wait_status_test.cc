#include "common/base/wait_status.h"

#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <unistd.h>

namespace heaptap::base {
namespace {

struct Case {
  const char* name;
  WaitStatus status;
  int raw;
  bool has_exited = false;
  bool was_killed = false;
  bool has_stopped = false;
  bool is_in_system_call = false;
  int event = 0;
  int signal = 0;  // that ended or stopped it
};

// Numbers of waitpid(2) and ptrace(2).
const Case kCases[] = {
    {.name = "exited with 0", .status = WaitStatus(), .raw = 0, .has_exited = true},
    {.name = "exited with 7", .status = WaitStatus(0x700), .raw = 0x700, .has_exited = true},
    {.name = "exited with 255", .status = WaitStatus(0xff00), .raw = 0xff00, .has_exited = true},
    {.name = "killed", .status = WaitStatus(SIGKILL), .raw = 9, .was_killed = true, .signal = SIGKILL},
    {.name = "dumped core", .status = WaitStatus(0x8b), .raw = 0x8b, .was_killed = true, .signal = SIGSEGV},
    {.name = "stopped", .status = WaitStatus::stopped(SIGSTOP), .raw = 0x137f, .has_stopped = true, .signal = SIGSTOP},
    {.name = "by a real-time signal",
     .status = WaitStatus::stopped(64),
     .raw = 0x407f,
     .has_stopped = true,
     .signal = 64},
    {.name = "in a system call",
     .status = WaitStatus::of_stop(SIGTRAP | 0x80),
     .raw = 0x857f,
     .has_stopped = true,
     .is_in_system_call = true,
     .signal = SIGTRAP},
    {.name = "at exec",
     .status = WaitStatus::stopped(SIGTRAP, PTRACE_EVENT_EXEC),
     .raw = 0x4057f,
     .has_stopped = true,
     .event = PTRACE_EVENT_EXEC,
     .signal = SIGTRAP},
    {.name = "of its group, by ptrace",
     .status = WaitStatus::of_stop(PTRACE_EVENT_STOP << 8 | SIGTTIN),
     .raw = 0x80157f,
     .has_stopped = true,
     .event = PTRACE_EVENT_STOP,
     .signal = SIGTTIN},
    {.name = "continued", .status = WaitStatus(0xffff), .raw = 0xffff},
};

TEST(WaitStatus, EachKindIsOneOfEndedAndStopped) {
  for (const Case& expected : kCases) {
    SCOPED_TRACE(expected.name);
    const WaitStatus status = expected.status;
    EXPECT_EQ(status.raw(), expected.raw);
    EXPECT_EQ(status.has_exited(), expected.has_exited);
    EXPECT_EQ(status.was_killed(), expected.was_killed);
    EXPECT_EQ(status.has_ended(), expected.has_exited || expected.was_killed);
    EXPECT_EQ(status.has_stopped(), expected.has_stopped);
    EXPECT_EQ(status.is_in_system_call(), expected.is_in_system_call);
    EXPECT_EQ(status.event(), expected.event);
    if (expected.signal != 0) {
      EXPECT_EQ(expected.was_killed ? status.end_signal() : status.stop_signal(), expected.signal);
    }
  }
}

TEST(WaitStatus, AnEndIsToldAsAShellTellsIt) {
  EXPECT_EQ(WaitStatus().shell_status(), 0);
  EXPECT_EQ(WaitStatus(0x700).exit_code(), 7);
  EXPECT_EQ(WaitStatus(0x700).shell_status(), 7);
  EXPECT_EQ(WaitStatus(SIGTERM).shell_status(), 143);
}

TEST(WaitStatus, AChildIsWaitedFor) {
  const pid_t child = fork();
  if (child == 0) _exit(5);
  EXPECT_EQ(wait_for(child), WaitStatus(0x500));
  EXPECT_EQ(wait_for(child), std::nullopt) << "it is reaped";
}

TEST(WaitStatus, NothingNewIsNoStatus) {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  EXPECT_EQ(wait_for(child, WNOHANG), std::nullopt);
  kill(child, SIGKILL);
  EXPECT_EQ(wait_for(child), WaitStatus(SIGKILL));
}

}  // namespace
}  // namespace heaptap::base
