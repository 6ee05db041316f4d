#include "capture/tracer/call_exits.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "code_memory.h"

namespace heaptap::tracer {
namespace {

using Addresses = std::vector<uint64_t>;
constexpr uint64_t kStart = 0x1000;

// Machine code of x86-64.
constexpr uint8_t kNop = 0x90;
constexpr uint8_t kRet = 0xc3;
constexpr uint8_t kUd2[] = {0x0f, 0x0b};

CallExits exits_of(const std::map<uint64_t, std::vector<uint8_t>>& code, uint64_t size_bytes,
                   const Addresses& watched = {}, bool may_have_data = false) {
  test::CodeMemory memory;
  for (const auto& [address, bytes] : code) memory.put(address, bytes);
  return find_call_exits(*arch::cpu_of(wire::Architecture::kX86_64), memory,
                         {.start = kStart, .size_bytes = size_bytes, .may_have_data = may_have_data},
                         [&](uint64_t address) { return std::ranges::find(watched, address) != watched.end(); });
}

TEST(CallExits, BothSidesOfABranchEnd) {
  // je +2; nop; ret; nop; ret
  const CallExits exits = exits_of({{kStart, {0x74, 2, kNop, kRet, kNop, kRet}}}, 6);
  EXPECT_EQ(exits.returns, (Addresses{0x1003, 0x1005}));
  EXPECT_TRUE(exits.tail_jumps.empty());
  EXPECT_TRUE(exits.complete);
}

TEST(CallExits, APartThatLiesElsewhereIsFollowed) {
  // jmp 0x2000; there: nop; ret
  const CallExits exits = exits_of({{kStart, {0xe9, 0xfb, 0x0f, 0, 0}}, {0x2000, {kNop, kRet}}}, 5);
  EXPECT_EQ(exits.returns, Addresses{0x2001});
  EXPECT_TRUE(exits.tail_jumps.empty());
}

TEST(CallExits, AJumpToALinkageStubLeaves) {
  // nop; jmp 0x2000; there: jmp *0x0(%rip)
  const CallExits exits = exits_of({{kStart, {kNop, 0xe9, 0xfa, 0x0f, 0, 0}}, {0x2000, {0xff, 0x25, 0, 0, 0, 0}}}, 6);
  EXPECT_TRUE(exits.returns.empty());
  EXPECT_EQ(exits.tail_jumps, Addresses{0x1001});
}

TEST(CallExits, AStubMayBeginWithALandingPad) {
  // jmp 0x2000; there: endbr64; bnd jmp *0x0(%rip)
  const CallExits exits = exits_of(
      {{kStart, {0xe9, 0xfb, 0x0f, 0, 0}}, {0x2000, {0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0, 0, 0, 0}}}, 5);
  EXPECT_EQ(exits.tail_jumps, Addresses{0x1000});
}

TEST(CallExits, AnotherWatchedFunctionIsNotFollowed) {
  const CallExits exits = exits_of({{kStart, {0xe9, 0xfb, 0x0f, 0, 0}}, {0x2000, {kNop, kRet}}}, 5, {0x2000});
  EXPECT_TRUE(exits.returns.empty());
  EXPECT_EQ(exits.tail_jumps, Addresses{0x1000});
}

TEST(CallExits, PartsBehindAJumpByATableAreFound) {
  // jmp *%rax; nop; ret; ret
  const CallExits exits = exits_of({{kStart, {0xff, 0xe0, kNop, kRet, kRet}}}, 5);
  EXPECT_EQ(exits.returns, (Addresses{0x1003, 0x1004}));
  EXPECT_EQ(exits.tail_jumps, Addresses{0x1000});
}

TEST(CallExits, DataBehindAJumpByATableIsLeftAlone) {
  // je +2; jmp *%rax; ret; then what may be a table or code
  const CallExits exits = exits_of({{kStart, {0x74, 2, 0xff, 0xe0, kRet, kNop, kRet}}}, 7, {}, true);
  EXPECT_EQ(exits.returns, Addresses{0x1004});
  EXPECT_EQ(exits.tail_jumps, Addresses{0x1002});
  EXPECT_FALSE(exits.complete);
}

TEST(CallExits, TheNextFunctionIsNoPartOfOneThatEndsWithACall) {
  // call +0; then another function: ret
  const CallExits exits = exits_of({{kStart, {0x74, 1, kRet, 0xe8, 0, 0, 0, 0, kRet}}}, 8);
  EXPECT_EQ(exits.returns, Addresses{0x1002});
}

TEST(CallExits, NorIsAWatchedFunctionBehindAPartThatLiesElsewhere) {
  // jmp 0x2000; there: call +0, which doesn't come back; then another function: ret
  const CallExits exits =
      exits_of({{kStart, {0xe9, 0xfb, 0x0f, 0, 0}}, {0x2000, {0xe8, 0, 0, 0, 0, kRet}}}, 5, {0x2005});
  EXPECT_TRUE(exits.returns.empty());
}

TEST(CallExits, WhatNeverGoesOnIsNoReturn) {
  const CallExits exits = exits_of({{kStart, {0x74, 1, kRet, kUd2[0], kUd2[1], kRet}}}, 6);
  EXPECT_EQ(exits.returns, Addresses{0x1002});
  EXPECT_TRUE(exits.complete);
}

TEST(CallExits, CodeThatCannotBeReadIsSaid) {
  const CallExits exits = exits_of({{kStart, {0x74, 0x7f, kRet}}}, 3);
  EXPECT_EQ(exits.returns, Addresses{0x1002});
  EXPECT_FALSE(exits.complete);
}

TEST(CallExits, ALoopEndsTheSearch) {
  const CallExits exits = exits_of({{kStart, {kNop, 0xeb, 0xfd}}}, 3);
  EXPECT_TRUE(exits.returns.empty());
  EXPECT_TRUE(exits.complete);
}

}  // namespace
}  // namespace heaptap::tracer
