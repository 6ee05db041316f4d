#include "capture/launch/launch.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace heaptap::launch {
namespace {

std::string executable_of(pid_t process) {
  return std::filesystem::read_symlink("/proc/" + std::to_string(process) + "/exe").string();
}

int status_of(const Launched& launched) {
  int status = -1;
  EXPECT_EQ(waitpid(launched.process, &status, 0), launched.process);
  return status;
}

LaunchOptions shell(const std::string& script) {
  LaunchOptions options;
  options.program = "/bin/sh";
  options.arguments = {"sh", "-c", script};
  return options;
}

TEST(Launch, HoldsTheChildBeforeItIsTheProgram) {
  LaunchOptions options = shell("exit 7");
  options.tracer = getpid();
  std::string before;
  options.before_execution = [&before](pid_t child) -> base::Result<> {
    before = executable_of(child);
    return {};
  };
  const auto launched = launch(options);
  ASSERT_TRUE(launched) << launched.error().message;
  EXPECT_EQ(before, executable_of(getpid()));
  EXPECT_EQ(WEXITSTATUS(status_of(*launched)), 7);
}

TEST(Launch, ExecutesNothingAfterARefusal) {
  LaunchOptions options = shell("echo harm; sleep 100");
  pid_t seen = 0;
  options.before_execution = [&seen](pid_t child) -> base::Result<> {
    seen = child;
    return base::fail("not today");
  };
  const auto launched = launch(options);
  ASSERT_FALSE(launched);
  EXPECT_EQ(launched.error().message, "can't record /bin/sh with ptrace: not today");
  EXPECT_EQ(launched.error().kind, base::ErrorKind::kFailed);
  EXPECT_EQ(kill(seen, 0), -1) << "the child is gone";
}

TEST(Launch, TellsWhyAHeldProgramCannotBeRun) {
  LaunchOptions options = shell("");
  options.program = "/no/such/program";
  options.before_execution = [](pid_t) -> base::Result<> { return {}; };
  const auto launched = launch(options);
  ASSERT_FALSE(launched);
  EXPECT_EQ(launched.error().message, "can't run /no/such/program: No such file or directory");
  EXPECT_EQ(launched.error().kind, base::ErrorKind::kNotFound);
}

TEST(Launch, SurvivesAChildThatIsKilledWhileItWaits) {
  LaunchOptions options = shell("");
  options.before_execution = [](pid_t child) -> base::Result<> {
    kill(child, SIGKILL);
    siginfo_t ended{};
    waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT);
    return {};
  };
  const auto launched = launch(options);
  ASSERT_TRUE(launched) << launched.error().message;
  EXPECT_EQ(WTERMSIG(status_of(*launched)), SIGKILL);
}

}  // namespace
}  // namespace heaptap::launch
