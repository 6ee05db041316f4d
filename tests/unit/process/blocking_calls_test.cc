// System calls that wait: a process that is stopped in one and goes on sees what it would have seen without us.
#include "blocking_calls.h"

#include <gtest/gtest.h>

#include "capture/process/stopped_process.h"

namespace heaptap::process {
namespace {

// Given a process in the call, when it is stopped several times and then woken, then the call's outcome is as without that.
void expect_unharmed(const test::BlockingCall& blocking, unsigned stops) {
  SCOPED_TRACE(blocking.name);
  test::WaitingProcess process(blocking);
  for (unsigned i = 0; i < stops && process.wait_until_blocked(); ++i) {
    auto stopped = StoppedProcess::stop(process.id());
    const bool has_timed_out = !stopped && blocking.wake == nullptr && !process.wait_until_blocked();
    if (has_timed_out) break;
    ASSERT_TRUE(stopped.has_value()) << stopped.error().message;
    EXPECT_EQ(stopped->threads().size(), 1u);
  }
  EXPECT_EQ(process.end(), blocking.expected);
}

TEST(BlockingCalls, OnFileDescriptorsAreUnharmedByStops) {
  for (const test::BlockingCall& call : test::calls_for_descriptors()) expect_unharmed(call, 3);
}

TEST(BlockingCalls, OfSocketsAreUnharmedByStops) {
  for (const test::BlockingCall& call : test::calls_of_sockets()) expect_unharmed(call, 3);
}

TEST(BlockingCalls, OfOtherKindsAreUnharmedByStops) {
  for (const test::BlockingCall& call : test::other_calls()) expect_unharmed(call, 3);
}

TEST(BlockingCalls, HaveTheSameOutcomeWithoutStops) {
  for (const test::BlockingCall& call : test::calls_for_descriptors()) expect_unharmed(call, 0);
  for (const test::BlockingCall& call : test::calls_of_sockets()) expect_unharmed(call, 0);
  for (const test::BlockingCall& call : test::other_calls()) expect_unharmed(call, 0);
}

}  // namespace
}  // namespace heaptap::process
