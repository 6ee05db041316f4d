#include "views/push/sent_allocations.h"

#include <gtest/gtest.h>

namespace heaptap::push {
namespace {

report::StackEntry stack(uint64_t id, uint64_t allocations, uint64_t live = 0) {
  report::StackEntry stack;
  stack.id = id;
  stack.allocations = allocations;
  stack.allocated_bytes = allocations * 10;
  stack.live_blocks = live;
  return stack;
}

report::Report report_of(std::vector<report::StackEntry> stacks) {
  report::Report report;
  report.stacks = std::move(stacks);
  return report;
}

TEST(SentAllocations, AreTakenFromTheNextReport) {
  SentAllocations sent;
  report::Report first = report_of({stack(1, 3, 2)});
  sent.subtract_from(first);
  EXPECT_EQ(first.stacks[0].allocations, 3U);
  sent.confirm();
  report::Report second = report_of({stack(2, 1), stack(1, 5, 4)});
  sent.subtract_from(second);
  EXPECT_EQ(second.stacks[0].allocations, 1U);
  EXPECT_EQ(second.stacks[1].allocations, 2U);
  EXPECT_EQ(second.stacks[1].allocated_bytes, 20U);
  EXPECT_EQ(second.stacks[1].live_blocks, 4U);  // a state
}

TEST(SentAllocations, ThatNeverArrivedAreInTheNextProfile) {
  SentAllocations sent;
  report::Report lost = report_of({stack(1, 3)});
  sent.subtract_from(lost);
  report::Report taken = report_of({stack(1, 5)});
  sent.subtract_from(taken);
  EXPECT_EQ(taken.stacks[0].allocations, 5U);
  sent.confirm();
  report::Report last = report_of({stack(1, 5)});
  sent.subtract_from(last);
  EXPECT_EQ(last.stacks[0].allocations, 0U);
}

TEST(SentAllocations, LeaveUnknownWhatIsUnknown) {
  SentAllocations sent;
  report::Report first = report_of({stack(1, 3)});
  first.stacks[0].allocations.set_unknown();
  sent.subtract_from(first);
  sent.confirm();
  report::Report second = report_of({stack(1, 2)});
  second.stacks[0].allocations.set_unknown();
  sent.subtract_from(second);
  EXPECT_FALSE(second.stacks[0].allocations.is_known());
  EXPECT_EQ(second.stacks[0].allocations.counted(), 0U);
}

}  // namespace
}  // namespace heaptap::push
