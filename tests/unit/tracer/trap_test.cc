// Whose a SIGTRAP is, over all that a machine may say.
#include "capture/tracer/trap.h"

#include <gtest/gtest.h>

#include <climits>
#include <csignal>

namespace heaptap::tracer {
namespace {

constexpr int kCodes[] = {INT_MIN,       SI_ASYNCNL, SI_TKILL,      SI_SIGIO, SI_ASYNCIO,  SI_MESGQ, SI_TIMER, SI_QUEUE,
                          SI_USER,       TRAP_BRKPT, TRAP_TRACE,    3,        TRAP_HWBKPT, 5,        6,        7,
                          SI_KERNEL - 1, SI_KERNEL,  SI_KERNEL + 1, INT_MAX};

template <typename Check>
void for_all(Check check) {
  for (const int code : kCodes) {
    for (unsigned bits = 0; bits < 8; ++bits) {
      const TrapFacts facts{.code = code,
                            .is_behind_site = (bits & 1) != 0,
                            .is_planted = (bits & 2) != 0,
                            .is_breakpoint = (bits & 4) != 0};
      SCOPED_TRACE(testing::Message() << "code " << code << ", facts " << bits);
      check(facts, owner_of(facts));
    }
  }
}

bool is_of_an_instruction(int code) { return code == SI_KERNEL || code == TRAP_BRKPT; }

TEST(TrapTest, WhatABreakpointOfOursExplainsNeverGetsToTheProgram) {
  for_all([](const TrapFacts& facts, TrapOwner owner) {
    if (!is_of_an_instruction(facts.code) || !facts.is_behind_site) return;
    if (facts.is_planted) {
      EXPECT_EQ(owner, TrapOwner::kSite);
    }
    if (!facts.is_planted && !facts.is_breakpoint) {
      EXPECT_EQ(owner, TrapOwner::kLifted);
    }
  });
}

TEST(TrapTest, WhatNothingOfOursExplainsIsTheProgramsOwn) {
  for_all([](const TrapFacts& facts, TrapOwner owner) {
    const bool is_own_instruction = !facts.is_planted && facts.is_breakpoint;
    if (!facts.is_behind_site || is_own_instruction) {
      EXPECT_EQ(owner, TrapOwner::kProgram);
    }
  });
}

// An emulated instruction of one byte leaves the thread where its breakpoint would have: there a signal may wait for it.
TEST(TrapTest, WhatWasSentIsTheProgramsOwnWhereverItStands) {
  for_all([](const TrapFacts& facts, TrapOwner owner) {
    if (facts.code <= 0) {
      EXPECT_EQ(owner, TrapOwner::kProgram);
    }
  });
}

// The tracer has nobody step, and watches nothing.
TEST(TrapTest, StepsAndWatchedInstructionsAreTheProgramsOwn) {
  for_all([](const TrapFacts& facts, TrapOwner owner) {
    if (!is_of_an_instruction(facts.code)) {
      EXPECT_EQ(owner, TrapOwner::kProgram);
    }
  });
}

TEST(TrapTest, WhatWaitedBehindAMaskComesInABreakpointsPlace) {
  TrapFacts facts{.code = SI_TKILL, .is_behind_site = true, .is_planted = true, .is_blocked = true};
  EXPECT_EQ(owner_of(facts), TrapOwner::kSite);
  facts.is_blocked = false;
  EXPECT_EQ(owner_of(facts), TrapOwner::kProgram);
  facts = {.code = TRAP_TRACE, .is_behind_site = true, .is_planted = true, .is_blocked = true};
  EXPECT_EQ(owner_of(facts), TrapOwner::kProgram);
  facts = {.code = SI_USER, .is_behind_site = false, .is_planted = false, .is_blocked = true};
  EXPECT_EQ(owner_of(facts), TrapOwner::kProgram);
}

}  // namespace
}  // namespace heaptap::tracer
