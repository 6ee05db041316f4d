#include "capture/inject/patch_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/arch/cpu.h"

namespace heaptap::inject {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;
using Bytes = std::vector<uint8_t>;

constexpr uint64_t kAt = 0x7f0000001000;
constexpr uint64_t kTrampoline = 0x7f0000100000;
constexpr uint64_t kHook = 0x7f0000200000;

Bytes operator+(Bytes first, const Bytes& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

const Bytes kPushR12 = {0x41, 0x54};
const Bytes kRest = {0x48, 0x89, 0xfb, 0x48, 0x83, 0xec, 0x10, 0xc3};  // mov %rdi,%rbx; sub $16,%rsp; ret

base::Result<PatchPlan> plan(const Bytes& code) { return plan_patch({kAt, code, 6}); }

std::string refusal_of(const Bytes& code) {
  const auto made = plan(code);
  return made ? "" : made.error().message;
}

// The instruction at this offset of code at this address.
arch::Instruction decoded(const Bytes& code, size_t offset, uint64_t address) {
  const arch::Cpu* const cpu = arch::cpu_of(wire::Architecture::kX86_64);
  return cpu->decode(address + offset, std::span(code).subspan(offset));
}

TEST(PatchPlan, ReplacesWholeInstructionsBehindTheFirst) {
  const auto made = plan(kPushR12 + kRest);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->site, kAt + 2);
  EXPECT_THAT(made->replaced(), ElementsAreArray({0x48, 0x89, 0xfb, 0x48, 0x83, 0xec, 0x10}));
  EXPECT_EQ(made->inner(), (base::AddressRange{kAt + 3, kAt + 9}));
}

struct First {
  const char* name;
  Bytes code;
  Bytes undo;
};

class FirstInstruction : public testing::TestWithParam<First> {};

TEST_P(FirstInstruction, IsUndoneBeforeTheHook) {
  const First& first = GetParam();
  const auto made = plan(first.code + kRest);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->site, kAt + first.code.size());
  EXPECT_EQ(made->undo, first.undo);
  const auto trampoline = make_trampoline(*made, kTrampoline, kHook);
  ASSERT_TRUE(trampoline);
  const Bytes entry(trampoline->code.begin() + static_cast<ptrdiff_t>(trampoline->entry), trampoline->code.end());
  ASSERT_EQ(entry.size(), first.undo.size() + 5);
  EXPECT_THAT(std::span(entry).first(first.undo.size()), ElementsAreArray(first.undo));
  EXPECT_EQ(decoded(entry, first.undo.size(), kTrampoline + trampoline->entry).target, kHook);
}

INSTANTIATE_TEST_SUITE_P(
    All, FirstInstruction,
    testing::Values(First{"push_rbx", {0x53}, {0x5b}}, First{"push_r12", {0x41, 0x54}, {0x41, 0x5c}},
                    First{"push_r15", {0x41, 0x57}, {0x41, 0x5f}}, First{"endbr64", {0xf3, 0x0f, 0x1e, 0xfa}, {}},
                    First{"test_rdi", {0x48, 0x85, 0xff}, {}}, First{"cmp_imm", {0x48, 0x83, 0xff, 0x10}, {}},
                    First{"cmpb_relative", {0x80, 0x3d, 0x71, 0x0e, 0x14, 0x00, 0x00}, {}},
                    First{"sub_rsp_short", {0x48, 0x83, 0xec, 0x18}, {0x48, 0x83, 0xc4, 0x18}},
                    First{"sub_rsp_long", {0x48, 0x81, 0xec, 0x18, 1, 0, 0}, {0x48, 0x81, 0xc4, 0x18, 1, 0, 0}},
                    First{"mov_rsi_rax", {0x48, 0x89, 0xf0}, {}}, First{"mov_imm_eax", {0xb8, 1, 0, 0, 0}, {}},
                    First{"mov_imm_r10", {0x49, 0xba, 1, 2, 3, 4, 5, 6, 7, 8}, {}}),
    [](const auto& test) { return test.param.name; });

TEST(PatchPlan, RefusesAFirstInstructionThatCantBeUndone) {
  const auto refused = [](const Bytes& first) { return refusal_of(first + kRest); };
  EXPECT_THAT(refused({0x48, 0x89, 0xfb}), HasSubstr("undone"));                    // mov %rdi,%rbx
  EXPECT_THAT(refused({0x48, 0x89, 0xf7}), HasSubstr("undone"));                    // mov %rsi,%rdi
  EXPECT_THAT(refused({0xbf, 1, 0, 0, 0}), HasSubstr("undone"));                    // mov $1,%edi
  EXPECT_THAT(refused({0x49, 0xbc, 1, 2, 3, 4, 5, 6, 7, 8}), HasSubstr("undone"));  // mov …,%r12
  EXPECT_THAT(refused({0x54}), HasSubstr("undone"));                                // push %rsp
  EXPECT_THAT(refused({0xff, 0x35, 0, 0, 0, 0}), HasSubstr("undone"));              // push memory
  EXPECT_THAT(refused({0x48, 0x83, 0xc7, 0x01}), HasSubstr("undone"));              // add $1,%rdi
  EXPECT_THAT(refused({0x48, 0x83, 0xeb, 0x01}), HasSubstr("undone"));              // sub $1,%rbx
}

TEST(PatchPlan, MayFindRegistersOfMissingArgumentsSet) {
  const Bytes sets_rcx = {0x48, 0x89, 0xf9};  // mov %rdi,%rcx
  EXPECT_FALSE(plan_patch({kAt, sets_rcx + kRest, 4}));
  EXPECT_TRUE(plan_patch({kAt, sets_rcx + kRest, 3}));
  EXPECT_FALSE(plan_patch({kAt, Bytes{0x48, 0x89, 0xf2} + kRest, 3}));  // mov %rsi,%rdx
}

TEST(PatchPlan, RefusesAFirstInstructionThatGoesElsewhere) {
  for (const Bytes& first :
       {Bytes{0x66, 0xe9, 0, 1, 0, 0}, Bytes{0xeb, 0x10}, Bytes{0xc3}, Bytes{0xe8, 0, 1, 0, 0}, Bytes{0xff, 0xe0}})
    EXPECT_THAT(refusal_of(first + kRest), HasSubstr("plain")) << int{first[0]};
}

// As the C++ library's operator delete, which is free: a uprobe on it goes on to the old target.
TEST(PatchPlan, ReplacesAJumpThatIsTheFunction) {
  const Bytes jump = {0xe9, 0, 1, 0, 0};
  const auto made = plan(jump + Bytes{0x0f, 0x1f, 0x00});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->site, kAt);
  EXPECT_THAT(made->replaced(), ElementsAreArray(jump));
  EXPECT_EQ(made->kept(), (base::AddressRange{kAt + 1, kAt + 5}));  // its callers go to its beginning
  EXPECT_TRUE(made->undo.empty());
  const auto trampoline = make_trampoline(*made, kTrampoline, kHook);
  ASSERT_TRUE(trampoline);
  EXPECT_EQ(decoded(trampoline->code, 0, kTrampoline).target, kAt + 5 + 0x100);
  EXPECT_EQ(trampoline->entry, 5u);
  EXPECT_EQ(decoded(trampoline->code, 5, kTrampoline).target, kHook);
  EXPECT_TRUE(plan(jump));
}

TEST(PatchPlan, RefusesShortFunctions) {
  EXPECT_THAT(refusal_of({}), HasSubstr("plain"));
  EXPECT_THAT(refusal_of(kPushR12), HasSubstr("short"));
  EXPECT_THAT(refusal_of(kPushR12 + Bytes{0x48, 0x89, 0xfb}), HasSubstr("short"));
  for (size_t bytes = 0; bytes < kPushR12.size() + 7; ++bytes) {
    Bytes code = kPushR12 + kRest;
    code.resize(bytes);
    EXPECT_FALSE(plan(code)) << bytes;
  }
}

TEST(PatchPlan, RefusesWhatCantBeMoved) {
  const auto refused = [](const Bytes& second) { return refusal_of(kPushR12 + second + kRest); };
  EXPECT_THAT(refused({0xc3}), HasSubstr("moved"));                                // ret
  EXPECT_THAT(refused({0xff, 0x15, 0, 1, 0, 0}), HasSubstr("moved"));              // call through memory
  EXPECT_THAT(refused({0xff, 0xd0}), HasSubstr("moved"));                          // call *%rax
  EXPECT_THAT(refused({0xe2, 0x10}), HasSubstr("moved"));                          // loop
  EXPECT_THAT(refused({0xe3, 0x10}), HasSubstr("moved"));                          // jrcxz
  EXPECT_THAT(refused({0xff, 0x25, 0, 1, 0, 0}), HasSubstr("moved"));              // jmp through memory
  EXPECT_THAT(refused({0xc5, 0xf8, 0x10, 0x05, 0, 1, 0, 0}), HasSubstr("moved"));  // vmovups relative
}

TEST(PatchPlan, RefusesFunctionsThatJumpToWhatIsReplaced) {
  // jmp to each byte of the function from its end: into what is replaced it may not go.
  const Bytes body = kPushR12 + kRest;
  for (size_t target = 0; target < body.size(); ++target) {
    const auto distance = static_cast<uint8_t>(target - (body.size() + 2));
    const bool is_inside = target >= 2 && target < 9;
    EXPECT_EQ(plan(body + Bytes{0xeb, distance}).has_value(), !is_inside) << target;
  }
}

TEST(PatchPlan, RefusesWhatCantBeDecoded) {
  EXPECT_THAT(refusal_of(kPushR12 + kRest + Bytes{0x06}), HasSubstr("decoded"));
}

TEST(Trampoline, KeepsTargetsOfBranchesAndJumps) {
  const Bytes je = {0x74, 0x07};
  const Bytes jmp = {0xe9, 0x32, 0xf6, 0xff, 0xff};
  const Bytes body = Bytes{0x48, 0x85, 0xff} + je + jmp + Bytes(16, 0x90) + Bytes{0xc3};
  const auto made = plan(body);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_FALSE(made->continues);
  const auto trampoline = make_trampoline(*made, kTrampoline, kHook);
  ASSERT_TRUE(trampoline);
  EXPECT_EQ(decoded(trampoline->code, 3, kTrampoline).target, kAt + 5 + 7);
  EXPECT_EQ(decoded(trampoline->code, 3, kTrampoline).flow, arch::Flow::kBranch);
  EXPECT_EQ(decoded(trampoline->code, 9, kTrampoline).target, kAt + 10 - 0x9ce);
  EXPECT_EQ(trampoline->entry, 14u);
}

// The callee returns into the function, behind what is replaced.
TEST(Trampoline, CallsFromWhereTheFunctionDoes) {
  const Bytes make_room = {0x48, 0x83, 0xec, 0x08};  // sub $8, %rsp
  const auto made = plan(Bytes{0xf3, 0x0f, 0x1e, 0xfa} + make_room + Bytes{0xe8, 0, 1, 0, 0} + kRest);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->replaced().size(), 9u);
  const auto trampoline = make_trampoline(*made, kTrampoline, kHook);
  ASSERT_TRUE(trampoline);
  const Bytes stored = {0x48, 0x8d, 0x64, 0x24, 0xf8, 0xc7, 0x04, 0x24, 0x0d, 0x10,
                        0,    0,    0xc7, 0x44, 0x24, 0x04, 0x00, 0x7f, 0,    0};  // kAt + 13
  EXPECT_THAT(std::span(trampoline->code).subspan(8, stored.size()), ElementsAreArray(stored));
  EXPECT_EQ(decoded(trampoline->code, 8 + stored.size(), kTrampoline).target, kAt + 13 + 0x100);
  EXPECT_EQ(decoded(trampoline->code, 8 + stored.size(), kTrampoline).flow, arch::Flow::kJump);
  EXPECT_EQ(trampoline->entry, 8 + stored.size() + 5);
}

TEST(Trampoline, KeepsTheMemoryOfRelativeOperands) {
  const Bytes compare = {0x80, 0x3d, 0x71, 0x0e, 0x14, 0x00, 0x00};  // cmpb $0, 0x140e71(%rip)
  const Bytes load = {0x48, 0x8b, 0x05, 0x00, 0x10, 0x00, 0x00};     // mov 0x1000(%rip),%rax
  const auto made = plan(compare + load + kRest);
  ASSERT_TRUE(made);
  const auto trampoline = make_trampoline(*made, kTrampoline, kHook);
  ASSERT_TRUE(trampoline);
  const auto distance = [&](size_t at) {
    int32_t value = 0;
    memcpy(&value, trampoline->code.data() + at, sizeof(value));
    return static_cast<uint64_t>(int64_t{value});
  };
  EXPECT_EQ(kTrampoline + 7 + distance(2), kAt + 7 + 0x140e71);
  EXPECT_EQ(trampoline->code[6], 0);
  EXPECT_EQ(kTrampoline + 14 + distance(10), kAt + 14 + 0x1000);
  EXPECT_EQ(decoded(trampoline->code, 14, kTrampoline).target, kAt + 14);
}

TEST(Trampoline, IsRefusedWhereItIsTooFarAway) {
  const auto made = plan(kPushR12 + kRest);
  ASSERT_TRUE(made);
  EXPECT_FALSE(make_trampoline(*made, kAt + (uint64_t{1} << 32), kHook));
  EXPECT_TRUE(make_patch(*made, kAt + (uint64_t{1} << 32)).empty());
}

TEST(Trampoline, GoesToAHookThatIsFarAway) {
  const auto made = plan(kPushR12 + kRest);
  ASSERT_TRUE(made);
  const auto trampoline = make_trampoline(*made, kTrampoline, uint64_t{0x5500'0000'1000});
  ASSERT_TRUE(trampoline);
  const Bytes jump = {0xff, 0x25, 0, 0, 0, 0, 0x00, 0x10, 0, 0, 0x00, 0x55, 0, 0};
  EXPECT_THAT(std::span(trampoline->code).last(jump.size()), ElementsAreArray(jump));
}

TEST(Patch, JumpsToTheEntryAndTrapsBehindThat) {
  const auto made = plan(kPushR12 + kRest);
  ASSERT_TRUE(made);
  const Bytes patch = make_patch(*made, kTrampoline + 12);
  ASSERT_EQ(patch.size(), made->replaced().size());
  EXPECT_EQ(decoded(patch, 0, made->site).target, kTrampoline + 12);
  EXPECT_THAT(std::span(patch).subspan(5), ElementsAreArray({0xcc, 0xcc}));
}

TEST(JumpsInto, FindsJumpsCallsAndBranchesAtAnyByte) {
  const std::vector<base::AddressRange> ranges{{kAt + 100, kAt + 105}};
  for (const Bytes& opcode : {Bytes{0xe8}, Bytes{0xe9}, Bytes{0x0f, 0x84}}) {
    for (uint32_t target = 98; target < 108; ++target) {
      const Bytes before(7, 0x90);
      const size_t end = before.size() + opcode.size() + 4;
      const auto distance = static_cast<uint32_t>(target - end);
      const Bytes code =
          before + opcode +
          Bytes{uint8_t(distance), uint8_t(distance >> 8), uint8_t(distance >> 16), uint8_t(distance >> 24)};
      EXPECT_EQ(jumps_into(code, kAt, ranges), target >= 100 && target < 105) << target;
    }
  }
}

}  // namespace
}  // namespace heaptap::inject
