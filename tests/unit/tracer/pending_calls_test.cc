#include "capture/tracer/pending_calls.h"

#include <gtest/gtest.h>

#include "code_memory.h"

namespace heaptap::tracer {
namespace {

constexpr uint64_t kStack = 0x7000;
constexpr uint64_t kOperatorNew = 0x1000;
constexpr uint64_t kMalloc = 0x2000;
constexpr uint64_t kCaller = 0x3000;

FoundFunction function_at(uint64_t address) { return {.address = address}; }

class PendingCallsTest : public testing::Test {
 protected:
  // A call whose return address lies at `slot`.
  arch::CallPlace called(uint64_t slot, uint64_t return_address) {
    memory_.put_word(slot, return_address);
    return {
        .return_address = return_address, .slot = slot, .entry_stack_pointer = slot, .caller_stack_pointer = slot + 8};
  }
  void push(uint64_t function, const arch::CallPlace& place) {
    calls_.push({.called = function_at(function), .place = place});
  }
  PendingCall* enclosing(uint64_t function, const arch::CallPlace& place) {
    return calls_.enclosing(place, function_at(function), memory_, cpu_);
  }

  const arch::Cpu& cpu_ = *arch::cpu_of(wire::Architecture::kX86_64);
  test::CodeMemory memory_;
  PendingCalls calls_;
};

TEST_F(PendingCallsTest, ACallFurtherInIsAPartOfTheOuterOne) {
  push(kOperatorNew, called(kStack, kCaller));
  EXPECT_NE(enclosing(kMalloc, called(kStack - 32, kOperatorNew + 8)), nullptr);
}

TEST_F(PendingCallsTest, ATailJumpGoesOnWithTheSameCall) {
  const arch::CallPlace place = called(kStack, kCaller);
  push(kOperatorNew, place);
  EXPECT_NE(enclosing(kMalloc, place), nullptr);
}

TEST_F(PendingCallsTest, TheSameFunctionAtTheSamePlaceIsANewCall) {
  const arch::CallPlace place = called(kStack, kCaller);
  push(kOperatorNew, place);  // it threw, and is tried again
  EXPECT_EQ(enclosing(kOperatorNew, place), nullptr);
  EXPECT_TRUE(calls_.is_empty());
}

TEST_F(PendingCallsTest, ACallThatWasLeftEnclosesNothingFurtherOut) {
  push(kMalloc, called(kStack, kCaller));
  EXPECT_EQ(enclosing(kMalloc, called(kStack + 64, kCaller + 16)), nullptr);
  EXPECT_TRUE(calls_.is_empty());
}

TEST_F(PendingCallsTest, ACallWhoseReturnAddressIsGoneWasLeft) {
  push(kOperatorNew, called(kStack, kCaller));
  memory_.put_word(kStack, kCaller + 32);  // the caller calls something else
  EXPECT_EQ(enclosing(kMalloc, called(kStack - 32, kCaller + 100)), nullptr);
  EXPECT_TRUE(calls_.is_empty());
}

TEST_F(PendingCallsTest, AHandlersCallsAreItsOwn) {
  push(kMalloc, called(kStack, kCaller));
  calls_.interrupt(kStack - 16);
  EXPECT_TRUE(calls_.has_interrupted());
  EXPECT_EQ(enclosing(kMalloc, called(kStack - 512, kCaller + 64)), nullptr);
  EXPECT_FALSE(calls_.is_empty());
  calls_.handler_returned(kStack - 16);
  EXPECT_FALSE(calls_.has_interrupted());
  EXPECT_NE(enclosing(kMalloc, called(kStack - 32, kMalloc + 64)), nullptr);
}

TEST_F(PendingCallsTest, AHandlerThatWasInterruptedItselfGoesOn) {
  push(kMalloc, called(kStack, kCaller));
  EXPECT_TRUE(calls_.interrupt(kStack - 16));
  EXPECT_FALSE(calls_.interrupt(kStack - 600));  // a second signal, before the first handler's first instruction
  calls_.handler_returned(kStack - 600);
  EXPECT_TRUE(calls_.has_interrupted());
  calls_.handler_returned(kStack - 16);
  EXPECT_FALSE(calls_.has_interrupted());
}

// Calls that have gone on in other code, and are waited for where they come back.
class AwaitedCallsTest : public PendingCallsTest {
 protected:
  void await(uint64_t slot, uint64_t return_address) {
    PendingCall call{.called = function_at(kMalloc), .place = called(slot, return_address)};
    call.awaited_return = return_address;
    calls_.push(call);
  }
};

TEST_F(AwaitedCallsTest, OneComesBackWithTheStackPointerOfItsCaller) {
  await(kStack, kCaller);
  EXPECT_EQ(calls_.returned(kCaller, kStack), nullptr);          // the same code, further in
  EXPECT_EQ(calls_.returned(kCaller + 1, kStack + 8), nullptr);  // other code
  EXPECT_EQ(calls_.returned(kCaller, kStack + 64), nullptr);     // further out: it was left
  PendingCall* call = calls_.returned(kCaller, kStack + 8);
  ASSERT_NE(call, nullptr);
  calls_.pop(call);
  const std::vector<uint64_t> ended = calls_.take_ended_awaits();
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0], kCaller);
  EXPECT_TRUE(calls_.take_ended_awaits().empty());
}

TEST_F(AwaitedCallsTest, OneComesBackBehindAHandlerThatDidNotReturn) {
  await(kStack, kCaller);
  calls_.interrupt(kStack - 16);
  push(kMalloc, called(kStack - 512, kCaller + 64));
  EXPECT_NE(calls_.returned(kCaller, kStack + 8), nullptr);
}

TEST_F(AwaitedCallsTest, OneThatIsGoneIsWaitedForNoMore) {
  await(kStack, kCaller);
  EXPECT_EQ(enclosing(kMalloc, called(kStack + 64, kCaller + 16)), nullptr);
  const std::vector<uint64_t> ended = calls_.take_ended_awaits();
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0], kCaller);
}

// While the breakpoint isn't there, since another thread executes what lies below it.
class MissedCallsTest : public AwaitedCallsTest {
 protected:
  void await(wire::Function function) {
    PendingCall call{.called = {.address = kMalloc, .function = function}, .place = called(kStack, kCaller)};
    call.awaited_return = kCaller;
    calls_.push(call);
  }
  void leave() { enclosing(kMalloc, called(kStack + 64, kCaller + 16)); }
};

TEST_F(MissedCallsTest, OneThatIsSeenAfterAllIsNotLost) {
  await(wire::Function::kMalloc);
  calls_.may_miss_returns(kCaller);
  calls_.pop(calls_.returned(kCaller, kStack + 8));
  EXPECT_EQ(calls_.take_missed(), 0U);
}

TEST_F(MissedCallsTest, OneThatIsGoneIsLostOnce) {
  await(wire::Function::kMalloc);
  calls_.may_miss_returns(kCaller);
  calls_.may_miss_returns(kCaller);  // by one more thread
  EXPECT_EQ(calls_.take_missed(), 0U);
  leave();
  EXPECT_EQ(calls_.take_missed(), 1U);
  EXPECT_EQ(calls_.take_missed(), 0U);
}

TEST_F(MissedCallsTest, OneWhoseThreadIsGoneIsLost) {
  await(wire::Function::kMalloc);
  calls_.may_miss_returns(kCaller);
  calls_.clear();
  EXPECT_EQ(calls_.take_missed(), 1U);
}

TEST_F(MissedCallsTest, AReleaseWasRecordedAlready) {
  await(wire::Function::kFree);
  calls_.may_miss_returns(kCaller);
  leave();
  EXPECT_EQ(calls_.take_missed(), 0U);
}

TEST_F(MissedCallsTest, OneThatIsWaitedForElsewhereIsNotMissed) {
  await(wire::Function::kMalloc);
  calls_.may_miss_returns(kCaller + 16);
  leave();
  EXPECT_EQ(calls_.take_missed(), 0U);
}

class ExitCallsTest : public PendingCallsTest {
 protected:
  PendingCall* ending(uint64_t stack_pointer) {
    arch::RegisterImage registers;
    registers.size = 27 * 8;
    constexpr size_t kStackPointer = 19;  // rsp's index in user_regs_struct
    std::memcpy(&registers.bytes[kStackPointer * 8], &stack_pointer, 8);
    return calls_.ending(cpu_, registers);
  }
};

TEST_F(ExitCallsTest, AReturnEndsTheCallThatBeganAtItsStackPointer) {
  push(kMalloc, called(kStack, kCaller));
  EXPECT_EQ(ending(kStack - 64), nullptr);  // of a function further in
  ASSERT_NE(ending(kStack), nullptr);
  calls_.pop(ending(kStack));
  EXPECT_TRUE(calls_.is_empty());
}

TEST_F(ExitCallsTest, AReturnBehindAHandlerEndsTheInterruptedCall) {
  push(kMalloc, called(kStack, kCaller));
  calls_.interrupt(kStack - 16);
  push(kMalloc, called(kStack - 512, kCaller + 64));
  PendingCall* outer = ending(kStack);
  ASSERT_NE(outer, nullptr);
  EXPECT_EQ(outer->place.return_address, kCaller);
  calls_.pop(outer);
  EXPECT_TRUE(calls_.is_empty());
}

TEST_F(ExitCallsTest, WithoutACallNothingEnds) { EXPECT_EQ(ending(kStack), nullptr); }

}  // namespace
}  // namespace heaptap::tracer
