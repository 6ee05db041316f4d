// What a target lets hosts do.
#include "capture/uplink/order_policy.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace heaptap::uplink {
namespace {

line::RecordOrder run(const std::string& program) {
  line::RecordOrder order;
  order.command = {program, "an argument"};
  order.follow_exec = true;
  return order;
}

line::RecordOrder attach(pid_t process) {
  line::RecordOrder order;
  order.processes = {process};
  return order;
}

std::string why(const OrderPolicy& policy, const line::RecordOrder& order) {
  const auto checked = policy.check(order);
  return checked ? "" : checked.error().message;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(OrderPolicy, AllowsAllByDefault) {
  EXPECT_EQ(why({}, run("/bin/sh")), "");
  EXPECT_EQ(why({}, attach(getpid())), "");
}

TEST(OrderPolicy, AttachOnlyStartsNothing) {
  const OrderPolicy policy{.attach_only = true};
  EXPECT_TRUE(has(why(policy, run("/bin/sh")), "--attach-only"));
  line::RecordOrder both = run("/bin/sh");
  both.processes = {getpid()};
  EXPECT_TRUE(has(why(policy, both), "--attach-only"));
  EXPECT_EQ(why(policy, attach(getpid())), "");
}

TEST(OrderPolicy, AllowsCertainProgramsWhateverTheirPathIs) {
  const OrderPolicy policy{.allowed = {"/nonexistent", "/bin/true"}};
  EXPECT_EQ(why(policy, run("/bin/true")), "");
  EXPECT_EQ(why(policy, run("/bin/../bin/true")), "");
  EXPECT_EQ(why(policy, run("true")), "");
  EXPECT_TRUE(has(why(policy, run("/bin/sh")), "--allow"));
  EXPECT_FALSE(why(policy, run("/nonexistent")).empty());
  EXPECT_TRUE(has(why(policy, attach(getpid())), "--allow"));
  EXPECT_EQ(why({.allowed = {"/proc/self/exe"}}, attach(getpid())), "");
}

// What would make another program of it, or record others that it executes.
TEST(OrderPolicy, AllowsCertainProgramsAsTheyAre) {
  const OrderPolicy policy{.allowed = {"/bin/true"}};
  line::RecordOrder order = run("/bin/true");
  order.environment = {"LD_PRELOAD=/tmp/x.so"};
  EXPECT_TRUE(has(why(policy, order), "-E"));
  order = run("/bin/true");
  order.follow_fork = true;
  EXPECT_TRUE(has(why(policy, order), "--follow-fork"));
}

TEST(OrderPolicy, AUserThatIsSettledIsNotChanged) {
  const OrderPolicy policy{.has_user = true};
  line::RecordOrder order = run("/bin/true");
  EXPECT_EQ(why(policy, order), "");
  order.user = "0";
  EXPECT_TRUE(has(why(policy, order), "serve --user"));
}

TEST(OrderText, SaysWhatIsDone) {
  line::RecordOrder order = run("/bin/sh");
  order.environment = {"A=b c"};
  order.user = "1000";
  EXPECT_EQ(text_of(order), "runs /bin/sh 'an argument' -E 'A=b c' as user 1000");
  order = attach(getpid());
  order.processes.push_back(1);
  EXPECT_TRUE(text_of(order).starts_with("attaches to " + std::to_string(getpid()) + " (unit_uplink), 1 ("))
      << text_of(order);
}

}  // namespace
}  // namespace heaptap::uplink
