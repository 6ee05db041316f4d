// Which functions can keep values below the stack pointer, told by their machine code.
#include "common/arch/x86/red_zone.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

namespace heaptap::arch::x86 {
namespace {

using Bytes = std::vector<uint8_t>;

const Bytes kSystemCall{0xb8, 0x22, 0x00, 0x00, 0x00, 0x0f, 0x05};  // mov eax, 34; syscall
const Bytes kReturn{0xc3};
const Bytes kCall{0xe8, 0x00, 0x10, 0x00, 0x00};
const Bytes kStoreBelow{0x48, 0x89, 0x7c, 0x24, 0xf0};         // mov [rsp-16], rdi
const Bytes kStoreAbove{0x48, 0x89, 0x7c, 0x24, 0x08};         // mov [rsp+8], rdi
const Bytes kReserve{0x48, 0x83, 0xec, 0x18};                  // sub rsp, 24
const Bytes kFree{0x48, 0x83, 0xc4, 0x18};                     // add rsp, 24
const Bytes kFramePointer{0x55, 0x48, 0x89, 0xe5};             // push rbp; mov rbp, rsp
const Bytes kLoadAddress{0x48, 0x8d, 0x44, 0x24, 0x08};        // lea rax, [rsp+8]
const Bytes kAddressBelow{0x48, 0x8d, 0x44, 0x24, 0xf0};       // lea rax, [rsp-16]
const Bytes kVectorBelow{0xc5, 0xf8, 0x29, 0x44, 0x24, 0xe8};  // vmovaps [rsp-24], xmm0
const Bytes kVectorAbove{0xc5, 0xf8, 0x29, 0x44, 0x24, 0x08};
const Bytes kIndexed{0x48, 0x89, 0x3c, 0x0c};  // mov [rsp+rcx], rdi

bool may_use(std::initializer_list<Bytes> parts, int64_t at = -1) {
  Bytes function;
  for (const Bytes& part : parts) function.insert(function.end(), part.begin(), part.end());
  return may_use_red_zone(Mode::k64, function, at >= 0 ? static_cast<uint64_t>(at) : function.size() - 1);
}

TEST(RedZone, IsDeadInASystemCallsWrapper) {
  EXPECT_FALSE(may_use({kSystemCall, kReturn}));
  EXPECT_FALSE(may_use({kReserve, kStoreAbove, kSystemCall, kFree, kReturn}));
  EXPECT_FALSE(may_use({{0x53}, {0x41, 0x54}, kSystemCall, {0x41, 0x5c}, {0x5b}, kReturn})) << "push, pop";
}

TEST(RedZone, MayLiveWhereMemoryBelowTheStackPointerIsNamed) {
  EXPECT_TRUE(may_use({kStoreBelow, kSystemCall, kReturn}));
  EXPECT_TRUE(may_use({kSystemCall, kStoreBelow, kReturn}));
  EXPECT_TRUE(may_use({kAddressBelow, kSystemCall, kReturn}));
  EXPECT_TRUE(may_use({kVectorBelow, kSystemCall, kReturn}));
  EXPECT_TRUE(may_use({kStoreBelow, kCall, kReturn})) << "no matter what wrote this";
  EXPECT_TRUE(may_use({kVectorBelow, kCall, kReturn}));
}

TEST(RedZone, MayLiveWhereALeafCopiesTheStackPointer) {
  EXPECT_TRUE(may_use({kFramePointer, kSystemCall, {0x5d}, kReturn}));
  EXPECT_TRUE(may_use({kLoadAddress, kSystemCall, kReturn}));
  EXPECT_TRUE(may_use({kIndexed, kSystemCall, kReturn}));
  EXPECT_TRUE(may_use({kVectorAbove, kSystemCall, kReturn}));
  EXPECT_TRUE(may_use({{0x54}, {0x58}, kSystemCall, kReturn})) << "push rsp; pop rax";
  EXPECT_TRUE(may_use({{0x48, 0x94}, kSystemCall, {0x48, 0x94}, kReturn})) << "xchg rax, rsp";
  EXPECT_TRUE(may_use({{0x48, 0x83, 0xe4, 0xf0}, kSystemCall, kReturn})) << "and rsp, -16";
  EXPECT_TRUE(may_use({{0x48, 0x01, 0xe0}, kSystemCall, kReturn})) << "add rax, rsp";
  EXPECT_TRUE(may_use({kSystemCall, {0xc9}, kReturn})) << "leave";
}

TEST(RedZone, IsDeadInWhatCallsOthers) {
  EXPECT_FALSE(may_use({kFramePointer, kReserve, kCall, kSystemCall, {0xc9}, kReturn}));
  EXPECT_FALSE(may_use({kReserve, kLoadAddress, kCall, kSystemCall, kFree, kReturn}));
  EXPECT_FALSE(may_use({kReserve, kVectorAbove, {0xff, 0xd0}, kFree, kReturn})) << "call rax";
}

TEST(RedZone, MayLiveWhereALeafGoesOnElsewhere) {
  EXPECT_TRUE(may_use({kSystemCall, {0xe9, 0x00, 0x10, 0x00, 0x00}})) << "jmp, perhaps to a part of the function";
  EXPECT_TRUE(may_use({{0x0f, 0x84, 0x00, 0xf0, 0xff, 0xff}, kSystemCall, kReturn})) << "je";
  EXPECT_TRUE(may_use({kSystemCall, {0xff, 0xe0}})) << "jmp rax";
  EXPECT_FALSE(may_use({kSystemCall, {0xeb, 0xf7}, kReturn})) << "jmp within";
}

TEST(RedZone, MayLiveInWhatIsNotUnderstood) {
  EXPECT_TRUE(may_use_red_zone(Mode::k64, {}, 0));
  EXPECT_TRUE(may_use({kSystemCall, {0x06}, kReturn})) << "no instruction of 64-bit code";
  EXPECT_TRUE(may_use({kSystemCall, {0xe8, 0x00}})) << "the end is missing";
  EXPECT_TRUE(may_use({kSystemCall, kReturn}, 6)) << "in the midst of an instruction";
  EXPECT_TRUE(may_use({kSystemCall, kReturn}, 8)) << "behind the end";
}

}  // namespace
}  // namespace heaptap::arch::x86
