// AArch64 as a tracer would see it, on made-up registers. Instruction words are those of GNU as.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <map>

#include "common/arch/aarch64/cpu.h"
#include "common/arch/aarch64/flow.h"
#include "common/arch/cpu.h"
#include "common/arch/native.h"
#include "common/arch/walked_cpus.h"

namespace heaptap {
namespace {

using arch::Flow;
using arch::RegisterImage;

const arch::Cpu& cpu() { return *arch::cpu_of(wire::Architecture::kAArch64); }

// x0 to x30, sp, pc, pstate.
RegisterImage image_of(const std::map<unsigned, uint64_t>& values) {
  RegisterImage image;
  image.size = 34 * sizeof(uint64_t);
  for (const auto& [index, value] : values) std::memcpy(image.bytes + index * sizeof(value), &value, sizeof(value));
  return image;
}

class Words final : public arch::TargetMemory {
 public:
  bool read(uint64_t address, void* to, size_t bytes) override {
    const auto found = words.find(address);
    if (found == words.end() || bytes != sizeof(uint64_t)) return false;
    std::memcpy(to, &found->second, bytes);
    return true;
  }
  bool write(uint64_t address, const void* from, size_t bytes) override {
    if (bytes != sizeof(uint64_t)) return false;
    std::memcpy(&words[address], from, bytes);
    return true;
  }
  std::map<uint64_t, uint64_t> words;
};

TEST(AArch64Flow, IsThatOfEachKindOfBranch) {
  struct Case {
    uint32_t word;
    Flow flow;
    uint64_t target;
  };
  constexpr uint64_t kAt = 0x10000;
  constexpr auto kCases = std::to_array<Case>({
      {0x14000040, Flow::kJump, kAt + 0x100},     // b
      {0x97ffffef, Flow::kCall, kAt - 0x44},      // bl
      {0x540000c0, Flow::kBranch, kAt + 0x18},    // b.eq
      {0xb4007fa3, Flow::kBranch, kAt + 0xff4},   // cbz x3
      {0x35ffff45, Flow::kBranch, kAt - 0x18},    // cbnz w5
      {0xb6401f61, Flow::kBranch, kAt + 0x3ec},   // tbz x1, #40
      {0x371c7f42, Flow::kBranch, kAt - 0x7018},  // tbnz w2, #3
      {0xd61f0220, Flow::kIndirectJump, 0},       // br x17
      {0xd63f0100, Flow::kCall, 0},               // blr x8
      {0xd65f03c0, Flow::kReturn, 0},             // ret
      {0xd65f0260, Flow::kReturn, 0},             // ret x19
      {0xd61f087f, Flow::kIndirectJump, 0},       // braaz x3
      {0xd73f0885, Flow::kCall, 0},               // blraa x4, x5
      {0xd65f0bff, Flow::kReturn, 0},             // retaa
      {0xd69f03e0, Flow::kStop, 0},               // eret
      {0xd4200000, Flow::kStop, 0},               // brk #0
      {0x00000000, Flow::kStop, 0},               // udf #0
      {0xd4000001, Flow::kNext, 0},               // svc #0
      {0xd503245f, Flow::kNext, 0},               // bti c
      {0xa9be7bfd, Flow::kNext, 0},               // stp x29, x30, [sp, #-32]!
      {0xf9400420, Flow::kNext, 0},               // ldr x0, [x1, #8]
      {0x90000000, Flow::kNext, 0},               // adrp
  });
  for (const Case& each : kCases) {
    const arch::Instruction instruction = arch::aarch64::flow_of(each.word, kAt);
    EXPECT_EQ(instruction.flow, each.flow) << std::hex << each.word;
    EXPECT_EQ(instruction.target, each.target) << std::hex << each.word;
    EXPECT_EQ(instruction.length_bytes, 4);
  }
  EXPECT_EQ(cpu().decode(kAt, std::array<uint8_t, 3>{0xc0, 0x03, 0x5f}).flow, Flow::kUnknown) << "cut off";
  EXPECT_EQ(cpu().decode(kAt, std::array<uint8_t, 4>{0xc0, 0x03, 0x5f, 0xd6}).flow, Flow::kReturn);
}

TEST(AArch64Cpu, KnowsWhereACallReturns) {
  Words memory;
  // The return address is signed: its signature is above the address.
  const RegisterImage at_entry =
      image_of({{0, 11}, {7, 18}, {29, 0x7000}, {30, 0x5a000000401234}, {31, 0x6000}, {32, 0x400000}});
  arch::CallPlace place;
  ASSERT_TRUE(cpu().call_place(at_entry, memory, place));
  EXPECT_EQ(place.return_address, 0x401234u);
  EXPECT_EQ(place.slot, 0u);
  EXPECT_EQ(place.caller_stack_pointer, 0x6000u);
  EXPECT_EQ(cpu().program_counter(at_entry), 0x400000u);
  EXPECT_EQ(cpu().breakpoint_address(at_entry), 0x400000u);
  EXPECT_EQ(cpu().frame_pointer(at_entry), 0x7000u);
  EXPECT_TRUE(cpu().returns_from(at_entry, place));
  EXPECT_FALSE(cpu().returns_from(image_of({{31, 0x5ff0}}), place));
}

TEST(AArch64Cpu, HasEightArgumentsInRegisters) {
  Words memory;
  memory.words = {{0x6000, 108}, {0x6008, 109}};
  RegisterImage registers = image_of({{0, 100}, {7, 107}, {31, 0x6000}});
  uint64_t value = 0;
  for (const unsigned index : {0u, 7u, 8u, 9u}) {
    ASSERT_TRUE(cpu().argument(registers, memory, index, value));
    EXPECT_EQ(value, 100 + index);
    ASSERT_TRUE(cpu().set_argument(registers, memory, index, 200 + index));
    ASSERT_TRUE(cpu().argument(registers, memory, index, value));
    EXPECT_EQ(value, 200 + index);
  }
  EXPECT_FALSE(cpu().argument(registers, memory, 10, value)) << "not readable";
}

TEST(AArch64Cpu, KnowsItsSystemCalls) {
  constexpr unsigned kNumber = 8;
  EXPECT_TRUE(cpu().ends_all_threads(image_of({{kNumber, 94}})));
  EXPECT_FALSE(cpu().ends_all_threads(image_of({{kNumber, 93}})));
  EXPECT_TRUE(cpu().is_clone(220));
  EXPECT_TRUE(cpu().is_clone3(435));
  EXPECT_TRUE(cpu().names_tracer(image_of({{kNumber, 167}, {0, 0x59616d61}, {1, 5}})));
  EXPECT_FALSE(cpu().names_tracer(image_of({{kNumber, 167}, {0, 0x59616d61}, {1, 0}})));
  arch::SignalActionCall call;
  ASSERT_TRUE(cpu().is_signal_action(image_of({{kNumber, 134}, {0, 5}, {1, 0x1000}, {2, 0x2000}}), call));
  EXPECT_EQ(call.signal, 5u);
  EXPECT_EQ(call.action, 0x1000u);
  EXPECT_EQ(call.before, 0x2000u);
  Words memory;
  memory.words = {{0x6000 + 128 + 176 + 8 + 31 * 8, 0x9000}};  // siginfo, ucontext up to its registers
  uint64_t resumed_at = 0;
  ASSERT_TRUE(cpu().ends_handler(image_of({{kNumber, 139}, {31, 0x6000}}), memory, resumed_at));
  EXPECT_EQ(resumed_at, 0x9000u);
}

TEST(AArch64Cpu, IsTracedOnItsOwnMachinesAlone) {
  const bool is_own = arch::native::kArchitecture == wire::Architecture::kAArch64;
  EXPECT_EQ(arch::cpu_of_registers(image_of({})), is_own ? &cpu() : nullptr);
  EXPECT_EQ(arch::is_traced_here(wire::Architecture::kAArch64), is_own);
  EXPECT_EQ(arch::cpu_of_elf(EM_AARCH64, 8), &cpu());
}

// What each kind of instruction does is compared with the CPU (tests/cross/emulates.cc).
TEST(AArch64Emulation, IsThatOfWhatFunctionsBeginAndEndWith) {
  constexpr unsigned kLink = 30;
  constexpr unsigned kStack = 31;
  constexpr unsigned kCounter = 32;
  struct Case {
    const char* text;
    uint32_t word;
    unsigned changed;  // of the registers below
    uint64_t value;
    uint64_t next;
  };
  constexpr uint64_t kAt = 0x10000;
  constexpr auto kCases = std::to_array<Case>({
      {"nop", 0xd503201f, kStack, 0x6000, kAt + 4},
      {"bti c", 0xd503245f, kStack, 0x6000, kAt + 4},
      {"ret", 0xd65f03c0, kStack, 0x6000, 0x5a000000401234},
      {"retaa", 0xd65f0bff, kStack, 0x6000, 0x401234},
      {"sub sp, sp, #0x60", 0xd10183ff, kStack, 0x5fa0, kAt + 4},
      {"mov x1, x0", 0xaa0003e1, 1, 11, kAt + 4},
      {"cbz x0, +0x30", 0xb4000180, kStack, 0x6000, kAt + 4},
      {"cbnz x0, +0x30", 0xb5000180, kStack, 0x6000, kAt + 0x30},
      {"adrp x16, +0x1f000", 0xf00000f0, 16, kAt + 0x1f000, kAt + 4},
      {"ldr x17, [x2, #8]", 0xf9400451, 17, 77, kAt + 4},
      {"umulh x3, x1, x4", 0x9bc47c23, 3, 1, kAt + 4},
      {"bl +0x100", 0x94000040, kLink, kAt + 4, kAt + 0x100},
      {"br x5", 0xd61f00a0, kStack, 0x6000, 0x9000},
  });
  for (const Case& each : kCases) {
    Words memory;
    memory.words = {{0x2008, 77}};
    RegisterImage registers = image_of({{0, 11},
                                        {1, uint64_t{1} << 63},
                                        {2, 0x2000},
                                        {4, 2},
                                        {5, 0x9000},
                                        {kLink, 0x5a000000401234},
                                        {kStack, 0x6000},
                                        {kCounter, kAt},
                                        {33, uint64_t{1} << 10}});
    std::array<uint8_t, 4> bytes{};
    std::memcpy(bytes.data(), &each.word, sizeof(each.word));
    EXPECT_TRUE(cpu().decode(kAt, bytes).can_emulate) << each.text;
    ASSERT_TRUE(cpu().emulate(kAt, bytes, registers, memory)) << each.text;
    uint64_t value = 0;
    std::memcpy(&value, registers.bytes + each.changed * sizeof(value), sizeof(value));
    EXPECT_EQ(value, each.value) << each.text;
    EXPECT_EQ(cpu().program_counter(registers), each.next) << each.text;
    std::memcpy(&value, registers.bytes + 33 * sizeof(value), sizeof(value));
    EXPECT_EQ(value, 0u) << each.text << ": the next instruction would have to be a landing pad";
  }
}

TEST(AArch64Emulation, LeavesAloneWhatItCannotDo) {
  constexpr auto kWords = std::to_array<uint32_t>({
      0xd503233f,  // paciasp: the key isn't known
      0xd50323bf,  // autiasp
      0xc85f7c00,  // ldxr
      0xf8200000,  // ldadd
      0x6dbf27e8,  // stp d8, d9, [sp, #-16]!
      0xd53bd040,  // mrs x0, tpidr_el0
      0xd4000001,  // svc #0
      0xd4200000,  // brk #0
  });
  for (const uint32_t word : kWords) {
    std::array<uint8_t, 4> bytes{};
    std::memcpy(bytes.data(), &word, sizeof(word));
    EXPECT_FALSE(cpu().decode(0, bytes).can_emulate) << std::hex << word;
  }
  Words memory;  // nothing there
  RegisterImage registers = image_of({{2, 0x2000}, {32, 0x10000}});
  const RegisterImage before = registers;
  EXPECT_FALSE(cpu().emulate(0x10000, std::array<uint8_t, 4>{0x51, 0x84, 0x40, 0xf8}, registers, memory))
      << "ldr x17, [x2], #8";
  EXPECT_EQ(std::memcmp(before.bytes, registers.bytes, registers.size), 0);
}

TEST(AArch64Frames, OfASignalAreThoseOfItsTrampoline) {
  bool is_known = false;
  arch::visit_walked_cpu(wire::Architecture::kAArch64, [&]<typename Cpu>(Cpu) {
    const arch::SignalTrampoline& trampoline = Cpu::kTrampolines[0];
    constexpr uint8_t kCode[arch::SignalTrampoline::kMaxBytes] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4};
    is_known = trampoline.is(kCode) && trampoline.link_register == trampoline.frame_pointer + 8 &&
               trampoline.stack_pointer == trampoline.link_register + 8 &&
               trampoline.program_counter == trampoline.stack_pointer + 8;
  });
  EXPECT_TRUE(is_known);
}

// The kernel has moved it back already: what is at the program counter is all that tells of it.
TEST(AArch64Cpu, RepeatsACallThatItStandsBefore) {
  class Code final : public arch::TargetMemory {
   public:
    bool read(uint64_t address, void* to, size_t bytes) override {
      if (address != 0x400000 || bytes != sizeof(word)) return false;
      std::memcpy(to, &word, bytes);
      return true;
    }
    bool write(uint64_t, const void*, size_t) override { return false; }
    uint32_t word = 0;
  };
  Code code;
  const RegisterImage before = image_of({{0, 5}, {8, 133}, {32, 0x400000}});
  for (const uint32_t word : {0xd4000001U, 0xd4200000U, 0xd4000002U, 0xd503201fU, 0U}) {
    code.word = word;
    RegisterImage registers = before;
    EXPECT_EQ(cpu().repeat_call(registers, code), word == 0xd4000001U) << std::hex << word;
    EXPECT_EQ(std::memcmp(registers.bytes, before.bytes, before.size), 0);
  }
  RegisterImage behind = image_of({{32, 0x400004}});
  EXPECT_FALSE(cpu().repeat_call(behind, code));
}

}  // namespace
}  // namespace heaptap
