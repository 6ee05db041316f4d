// A thread's signal, when the tracer that was told of it dies.
#include "capture/tracer/next_stop.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <optional>

#include "common/base/wait_status.h"

namespace heaptap::tracer {
namespace {

// A child that raises SIGTRAP when it is told to, and then exits with 0.
class RaisingChild {
 public:
  RaisingChild() {
    if (pipe(to_) != 0) std::abort();
    id_ = fork();
    if (id_ != 0) return;
    char told = 0;
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    if (read(to_[0], &told, 1) == 1) raise(SIGTRAP);
    _exit(0);
  }
  ~RaisingChild() {
    if (!ended_) kill(id_, SIGKILL);
    (void)end();
    close(to_[0]);
    close(to_[1]);
  }
  RaisingChild(const RaisingChild&) = delete;
  RaisingChild& operator=(const RaisingChild&) = delete;

  [[nodiscard]] pid_t id() const { return id_; }
  [[nodiscard]] bool go_on() const { return write(to_[1], "x", 1) == 1; }
  std::optional<base::WaitStatus> end() {
    if (!ended_) ended_ = base::wait_for(id_);
    return ended_;
  }

 private:
  int to_[2] = {-1, -1};
  pid_t id_ = -1;
  std::optional<base::WaitStatus> ended_;
};

// Of a tracer of its own, which exits in the middle of a stop. False: it wasn't told what it expected.
template <typename Trace>
bool dies_in_the_middle(const RaisingChild& child, Trace trace) {
  const pid_t tracer = fork();
  if (tracer == 0) {
    const bool is_traced = ptrace(PTRACE_SEIZE, child.id(), nullptr, nullptr) == 0 && child.go_on();
    _exit(is_traced && trace() ? 0 : 1);
  }
  return base::wait_for(tracer) == base::WaitStatus();
}

bool is_trap_of(const RaisingChild& child, const std::optional<ThreadNews>& news) {
  return news && news->thread == child.id() && news->status == base::WaitStatus::stopped(SIGTRAP);
}

TEST(NextStop, IsDeliveredIfTheTracerDies) {
  RaisingChild child;
  EXPECT_TRUE(dies_in_the_middle(child, [&] { return is_trap_of(child, wait_for_news()); }));
  const auto end = child.end();
  ASSERT_TRUE(end);
  EXPECT_TRUE(end->was_killed());
  EXPECT_EQ(end->end_signal(), SIGTRAP);
}

// What the kernel does, and why a stop isn't taken before its thread is known to stay in it.
TEST(NextStop, IsForgottenOnceItIsTaken) {
  RaisingChild child;
  EXPECT_TRUE(dies_in_the_middle(child, [&] {
    const auto news = wait_for_news();
    return is_trap_of(child, news) && !take_stop(*news);
  }));
  EXPECT_EQ(child.end(), base::WaitStatus());
}

TEST(NextStop, IsToldAgainUntilItsThreadIsResumed) {
  RaisingChild child;
  EXPECT_TRUE(dies_in_the_middle(child, [&] {
    const bool is_told_twice = is_trap_of(child, wait_for_news()) && is_trap_of(child, wait_for_news());
    if (!is_told_twice || ptrace(PTRACE_CONT, child.id(), nullptr, nullptr) != 0) return false;
    const auto end = wait_for_news();
    return end && end->thread == child.id() && end->status == base::WaitStatus();
  }));
}

TEST(NextStop, OfAThreadThatIsKilledInItIsItsEnd) {
  RaisingChild child;
  EXPECT_TRUE(dies_in_the_middle(child, [&] {
    const auto news = wait_for_news();
    if (!is_trap_of(child, news) || kill(child.id(), SIGKILL) != 0) return false;
    siginfo_t end{};
    if (waitid(P_PID, static_cast<id_t>(child.id()), &end, WEXITED | WNOWAIT | __WALL) != 0) return false;
    const auto since = take_stop(*news);
    return since && since->was_killed() && since->end_signal() == SIGKILL;
  }));
}

}  // namespace
}  // namespace heaptap::tracer
