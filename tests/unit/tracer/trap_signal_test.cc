// What a program's SIGTRAP was like before a breakpoint, and what becomes of it, over all cases.
#include "capture/tracer/trap_signal.h"

#include <gtest/gtest.h>

namespace heaptap::tracer {
namespace {

constexpr uint64_t kTrap = signal_bit(SIGTRAP);
constexpr uint64_t kAll = ~uint64_t{0} & ~signal_bit(SIGKILL) & ~signal_bit(SIGSTOP);
constexpr uint64_t kUsr1 = signal_bit(SIGUSR1);
constexpr uint64_t kUsr2 = signal_bit(SIGUSR2);

TEST(TrapMask, OfABlockedSignalIsKnownAgainByTheRest) {
  const TrapMask blocks = TrapMask::of(kTrap | kUsr1);
  EXPECT_TRUE(blocked_before_trap(blocks, kUsr1));
  EXPECT_TRUE(blocked_before_trap(blocks, kUsr1 | kUsr2));  // in a handler
  EXPECT_FALSE(blocked_before_trap(blocks, kUsr2));         // another mask, which wasn't seen
  EXPECT_FALSE(blocked_before_trap(blocks, 0));
  EXPECT_TRUE(blocked_before_trap(TrapMask::of(kTrap), 0));
}

TEST(TrapMask, OfNothingBlockedIsThatUnlessAllElseIs) {
  EXPECT_FALSE(blocked_before_trap(TrapMask::of(0), 0));
  EXPECT_FALSE(blocked_before_trap(TrapMask::of(kUsr1), kUsr1));
  EXPECT_TRUE(blocked_before_trap(TrapMask::of(0), kAll & ~kTrap));
  EXPECT_TRUE(blocked_before_trap(TrapMask::of(0), kAll));
}

TEST(TrapMask, FollowsCalls) {
  EXPECT_EQ(mask_after_call(kUsr1, SIG_BLOCK, kTrap), kUsr1 | kTrap);
  EXPECT_EQ(mask_after_call(kUsr1 | kTrap, SIG_UNBLOCK, kTrap | kUsr2), kUsr1);
  EXPECT_EQ(mask_after_call(kUsr1, SIG_SETMASK, ~uint64_t{0}), kAll);
  EXPECT_EQ(mask_after_call(kUsr1, 77, kTrap), kUsr1);  // refused
  for (const uint64_t mask : {uint64_t{0}, kTrap, kUsr1, kAll}) {
    EXPECT_EQ(mask_after_call(mask_after_call(mask, SIG_BLOCK, kTrap), SIG_SETMASK, mask), mask);
  }
}

TEST(TrapAction, IsOwedWhereThereIsOne) {
  TrapAction none = TrapAction::of(0);
  none.met_breakpoint();
  EXPECT_FALSE(none.is_owed);
  for (const uint64_t handler : {uint64_t{1}, uint64_t{0x401000}}) {
    TrapAction action = TrapAction::of(handler);
    EXPECT_FALSE(action.is_owed);
    action.met_breakpoint();
    EXPECT_TRUE(action.is_owed);
  }
  EXPECT_TRUE((TrapAction{.kind = TrapAction::Kind::kHandled, .handler = 0}.is_unknown()));
}

// As the kernel would have it without breakpoints: what is sent to a process that ignores it is dropped, what an instruction forces isn't;
// a handler runs unless the signal is forced on a thread that blocks it. Whether a breakpoint was reported doesn't count: another one may
// have reset the action since.
TEST(TrapDelivery, IsAsWithoutBreakpoints) {
  using Kind = TrapAction::Kind;
  for (const bool is_sent : {false, true}) {
    for (const bool is_blocked : {false, true}) {
      EXPECT_EQ(delivery_of(Kind::kDefault, is_sent, is_blocked), TrapDelivery::kAsItIs);
      EXPECT_EQ(delivery_of(Kind::kIgnored, is_sent, is_blocked), is_sent ? TrapDelivery::kNot : TrapDelivery::kAsItIs);
      EXPECT_EQ(delivery_of(Kind::kHandled, is_sent, is_blocked),
                !is_sent && is_blocked ? TrapDelivery::kAsItIs : TrapDelivery::kRestored);
    }
  }
}

TEST(TrapAction, IsToldAsTheProgramHasSetIt) {
  for (const uint64_t handler : {uint64_t{0}, uint64_t{1}, uint64_t{0x401000}}) {
    for (const bool is_owed : {false, true}) {
      TrapAction action = TrapAction::of(handler);
      if (is_owed) action.met_breakpoint();
      EXPECT_EQ(handler_told(action, 0), handler);           // reset
      EXPECT_EQ(handler_told(action, handler), handler);     // not reset
      EXPECT_EQ(handler_told(action, 0x402000), 0x402000U);  // set by a call that wasn't seen
    }
  }
}

}  // namespace
}  // namespace heaptap::tracer
