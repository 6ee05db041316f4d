#include "capture/tracer/breakpoint_table.h"

#include <gtest/gtest.h>

#include "code_memory.h"

namespace heaptap::tracer {
namespace {

constexpr uint64_t kCode = 0x1000;
constexpr uint8_t kBreakpoint = 0xcc;
constexpr uint8_t kPush = 0x55;
constexpr uint8_t kRet = 0xc3;

class BreakpointTableTest : public testing::Test {
 protected:
  BreakpointTableTest() { memory_.put(kCode, code()); }
  static std::vector<uint8_t> code() {
    std::vector<uint8_t> bytes(64, kRet);
    bytes[0] = kPush;
    return bytes;
  }
  const arch::Cpu& cpu_ = *arch::cpu_of(wire::Architecture::kX86_64);
  test::CodeMemory memory_;
};

TEST_F(BreakpointTableTest, WhatIsPlantedIsTakenOutAtTheEnd) {
  {
    BreakpointTable table(cpu_, memory_);
    ASSERT_TRUE(table.plant(*table.add(kCode, 0)));
    EXPECT_EQ(memory_.byte(kCode), kBreakpoint);
    EXPECT_EQ(table.find(kCode)->instruction().front(), kPush);
  }
  EXPECT_EQ(memory_.byte(kCode), kPush);
}

TEST_F(BreakpointTableTest, MemoryThatHoldsSomethingElseMeanwhileIsLeftAlone) {
  {
    BreakpointTable table(cpu_, memory_);
    ASSERT_TRUE(table.plant(*table.add(kCode, 0)));
    memory_.put(kCode, {0x90, 0x90});
  }
  EXPECT_EQ(memory_.byte(kCode), 0x90);
}

TEST_F(BreakpointTableTest, ACopyOfTheMemoryIsCleanedTheSameWay) {
  BreakpointTable table(cpu_, memory_);
  ASSERT_TRUE(table.plant(*table.add(kCode, 0)));
  test::CodeMemory copy;
  std::vector<uint8_t> copied = code();
  copied[0] = kBreakpoint;
  copy.put(kCode, copied);
  table.lift_all(copy);
  EXPECT_EQ(copy.byte(kCode), kPush);
  EXPECT_EQ(memory_.byte(kCode), kBreakpoint);
}

TEST_F(BreakpointTableTest, ACopyOwnsWhatWasCopiedWhateverBecomesOfTheOther) {
  test::CodeMemory copy;
  std::vector<uint8_t> copied = code();
  copied[0] = kBreakpoint;
  copy.put(kCode, copied);
  BreakpointTable child(cpu_, copy);
  {
    BreakpointTable parent(cpu_, memory_);
    ASSERT_TRUE(parent.plant(*parent.add(kCode, 0)));
    ASSERT_TRUE(parent.plant(*parent.add(kCode + 1, 0)));  // after the fork
    child.copy_from(parent);
    parent.forget(0);
  }
  EXPECT_TRUE(child.find(kCode)->planted);
  EXPECT_FALSE(child.find(kCode + 1)->planted);
  child.lift_all(copy);
  EXPECT_EQ(copy.byte(kCode), kPush);
  EXPECT_EQ(copy.byte(kCode + 1), kRet);
}

TEST_F(BreakpointTableTest, OneThatIsTakenOutCanBePlantedAgain) {
  BreakpointTable table(cpu_, memory_);
  Site& site = *table.add(kCode, 0);
  ASSERT_TRUE(table.plant(site));
  table.take_out(kCode);
  EXPECT_EQ(memory_.byte(kCode), kPush);
  ASSERT_TRUE(table.plant(site));
  EXPECT_EQ(memory_.byte(kCode), kBreakpoint);
}

TEST_F(BreakpointTableTest, AnInstructionThatCannotBeEmulatedGetsNone) {
  memory_.put(kCode, {0x0f, 0xa2, kRet});  // cpuid
  BreakpointTable table(cpu_, memory_);
  EXPECT_EQ(table.add(kCode, 0), nullptr);
  EXPECT_EQ(table.add(0x9000, 0), nullptr);  // nor one that isn't there
}

TEST_F(BreakpointTableTest, AnInstructionAtTheEndOfItsMemoryIsKnown) {
  memory_.put(kCode, {kPush});
  BreakpointTable table(cpu_, memory_);
  ASSERT_NE(table.add(kCode, 0), nullptr);
}

TEST_F(BreakpointTableTest, SitesOfAnObjectThatWentAreForgotten) {
  BreakpointTable table(cpu_, memory_);
  table.plant(*table.add(kCode, 1));
  table.plant(*table.add(kCode + 1, 2));
  table.forget(1);
  EXPECT_EQ(table.find(kCode), nullptr);
  EXPECT_NE(table.find(kCode + 1), nullptr);
}

// Below it there may be anything, here what can't be emulated.
TEST_F(BreakpointTableTest, AReturnIsAwaitedUntilAllHaveComeBack) {
  memory_.put(kCode, {0x0f, 0xa2, kRet});  // cpuid
  BreakpointTable table(cpu_, memory_);
  ASSERT_NE(table.await_return(kCode, BreakpointTable::kNoObject), nullptr);
  ASSERT_NE(table.await_return(kCode, BreakpointTable::kNoObject), nullptr);
  EXPECT_EQ(memory_.byte(kCode), kBreakpoint);
  table.await_no_more(kCode);
  EXPECT_EQ(memory_.byte(kCode), kBreakpoint);
  table.await_no_more(kCode);
  EXPECT_EQ(memory_.byte(kCode), 0x0f);
  // A thread that met it before may tell only now.
  ASSERT_NE(table.find(kCode), nullptr);
  EXPECT_FALSE(table.find(kCode)->planted);
  table.await_no_more(kCode);
  EXPECT_EQ(memory_.byte(kCode), 0x0f);
}

TEST_F(BreakpointTableTest, AReturnThatIsAwaitedAtAnotherBreakpointLeavesThat) {
  BreakpointTable table(cpu_, memory_);
  Site& site = *table.add(kCode, 0);
  site.is_return = true;
  ASSERT_TRUE(table.plant(site));
  ASSERT_EQ(table.await_return(kCode, 0), &site);
  table.await_no_more(kCode);
  EXPECT_EQ(memory_.byte(kCode), kBreakpoint);
  EXPECT_EQ(site.instruction().front(), kPush);
}

TEST_F(BreakpointTableTest, CodeThatWasMadeAnewIsReadAnew) {
  BreakpointTable table(cpu_, memory_);
  table.await_return(kCode, BreakpointTable::kNoObject);
  table.await_no_more(kCode);
  memory_.put(kCode, {0x90, kRet});
  table.await_return(kCode, BreakpointTable::kNoObject);
  table.await_no_more(kCode);
  EXPECT_EQ(memory_.byte(kCode), 0x90);
}

TEST_F(BreakpointTableTest, WhereNothingCanBeWrittenNoReturnIsAwaited) {
  BreakpointTable table(cpu_, memory_);
  EXPECT_EQ(table.await_return(0x9000, BreakpointTable::kNoObject), nullptr);
  table.await_no_more(0x9000);
}

// The program's own breakpoint instruction, where a return was awaited once.
TEST_F(BreakpointTableTest, TheProgramsOwnBreakpointIsLeftInACopy) {
  BreakpointTable table(cpu_, memory_);
  memory_.put(kCode, {kBreakpoint, kRet});
  table.await_return(kCode, BreakpointTable::kNoObject);
  table.await_no_more(kCode);
  EXPECT_TRUE(table.is_breakpoint_at(kCode));
  test::CodeMemory copy;
  copy.put(kCode, {kBreakpoint, kRet});
  BreakpointTable child(cpu_, copy);
  child.copy_from(table);
  EXPECT_FALSE(child.find(kCode)->planted);
}

}  // namespace
}  // namespace heaptap::tracer
