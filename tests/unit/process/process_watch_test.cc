#include "capture/process/process_watch.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <utility>

namespace heaptap::process {
namespace {

// A child that waits for a word before it does this.
class Child {
 public:
  explicit Child(const std::function<void()>& then) {
    EXPECT_EQ(pipe(ends_), 0);
    process_ = fork();
    if (process_ != 0) return;
    close(ends_[1]);
    char word;
    (void)!read(ends_[0], &word, 1);
    then();
    _exit(0);
  }
  ~Child() {
    close(ends_[0]);
    if (ends_[1] >= 0) close(ends_[1]);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  [[nodiscard]] pid_t process() const { return process_; }
  void end(const ProcessWatch& watch) {
    close(std::exchange(ends_[1], -1));
    while (!watch.has_ended()) usleep(1000);
  }
  void reap() const { EXPECT_EQ(waitpid(process_, nullptr, 0), process_); }

 private:
  int ends_[2] = {-1, -1};
  pid_t process_ = 0;
};

bool keeps_exits() {
  utsname system{};
  unsigned major = 0;
  unsigned minor = 0;
  return uname(&system) == 0 && sscanf(system.release, "%u.%u", &major, &minor) == 2 &&
         (major > 6 || (major == 6 && minor >= 15));
}

TEST(ProcessWatchTest, TellsHowAProcessHasEnded) {
  for (const int number : {0, SIGKILL, SIGTERM}) {
    Child child([number] { number == 0 ? _exit(7) : (void)raise(number); });
    const ProcessWatch watch(child.process());
    EXPECT_FALSE(watch.has_ended());
    EXPECT_FALSE(watch.end_status());
    child.end(watch);
    const auto check = [number](const std::optional<base::WaitStatus>& status) {
      ASSERT_TRUE(status);
      EXPECT_EQ(status->was_killed(), number != 0);
      EXPECT_EQ(number == 0 ? status->exit_code() : status->end_signal(), number == 0 ? 7 : number);
    };
    check(watch.end_status());
    child.reap();
    EXPECT_TRUE(watch.has_ended());
    if (!keeps_exits()) {
      EXPECT_FALSE(watch.end_status());
    } else {
      check(watch.end_status());
    }
  }
}

TEST(ProcessWatchTest, KnowsNothingOfWhoWasGone) {
  Child child([] {});
  child.end(ProcessWatch(child.process()));
  child.reap();
  const ProcessWatch watch(child.process());
  EXPECT_TRUE(watch.has_ended());
  EXPECT_FALSE(watch.end_status());
}

}  // namespace
}  // namespace heaptap::process
