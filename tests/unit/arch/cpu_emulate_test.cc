// What an emulated instruction leaves behind is what the CPU leaves behind, for random operands, registers and flags of every
// kind of instruction; and nothing, where it can't be done.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "common/arch/cpu.h"
#include "common/arch/i386/cpu.h"
#include "common/arch/x86_64/cpu.h"
#include "instruction_kinds.h"
#include "kernel_facts.h"
#include "real_cpu.h"

namespace heaptap {
namespace {

using tests::InstructionKind;
using tests::MadeInstruction;
using tests::RealCpu;

constexpr uint64_t kStatusFlags = 0x8d5;

// The data as the emulation sees it: a copy. After `allowed` accesses all fail.
class CopiedMemory final : public arch::TargetMemory {
 public:
  explicit CopiedMemory(unsigned allowed = 1000)
      : bytes_(RealCpu::data().begin(), RealCpu::data().end()), allowed_(allowed) {}

  bool read(uint64_t address, void* to, size_t bytes) override {
    if (!is_allowed(address, bytes)) return false;
    std::memcpy(to, &bytes_[address - RealCpu::kData], bytes);
    return true;
  }
  bool write(uint64_t address, const void* from, size_t bytes) override {
    if (!is_allowed(address, bytes)) return false;
    std::memcpy(&bytes_[address - RealCpu::kData], from, bytes);
    return true;
  }

  bool equals_data() const { return std::ranges::equal(bytes_, RealCpu::data()); }
  bool has_refused() const { return has_refused_; }

 private:
  bool is_allowed(uint64_t address, size_t bytes) {
    const bool is_inside = address >= RealCpu::kData && address - RealCpu::kData + bytes <= bytes_.size();
    if (is_inside && allowed_-- > 0) return true;
    allowed_ = 0;
    has_refused_ = true;
    return false;
  }

  std::vector<uint8_t> bytes_;
  unsigned allowed_;
  bool has_refused_ = false;
};

// Where the registers of the encoding's order lie in an image.
constexpr uint8_t kPlaces64[] = {10, 11, 12, 5, 19, 4, 13, 14, 9, 8, 7, 6, 3, 2, 1, 0};
constexpr uint8_t kPlaces32[] = {6, 1, 2, 0, 15, 5, 3, 4};

class EmulateTest : public testing::TestWithParam<bool> {
 protected:
  EmulateTest()
      : is_64_(GetParam()),
        cpu_(is_64_ ? arch::x86_64::cpu() : arch::i386::cpu()),
        real_(is_64_),
        maker_(is_64_, 7),
        initial_(real_.registers()) {
    for (uint8_t& byte : RealCpu::data()) byte = static_cast<uint8_t>(maker_.number());
  }

  void put(arch::RegisterImage& image, unsigned index, uint64_t value) const {
    std::memcpy(image.bytes + size_t{index} * cpu_.word_bytes(), &value, cpu_.word_bytes());
  }
  uint64_t get(const arch::RegisterImage& image, unsigned index) const {
    uint64_t value = 0;
    std::memcpy(&value, image.bytes + size_t{index} * cpu_.word_bytes(), cpu_.word_bytes());
    return value;
  }
  unsigned flags_place() const { return is_64_ ? 18 : 14; }

  arch::RegisterImage registers_for(const MadeInstruction& made) {
    arch::RegisterImage image = initial_;
    if (is_64_) {
      for (unsigned i = 0; i < 16; ++i) put(image, kPlaces64[i], made.general[i]);
      put(image, 21, made.fs_base);
    } else {
      for (unsigned i = 0; i < 8; ++i) put(image, kPlaces32[i], made.general[i]);
    }
    put(image, is_64_ ? 15 : 11, ~uint64_t{0});
    put(image, flags_place(), 0x202 | (maker_.number() & kStatusFlags));
    cpu_.set_program_counter(image, RealCpu::kCode);
    return image;
  }

  // What a return or an indirect jump finds in memory has to be an address.
  void place_target(const InstructionKind& kind, const MadeInstruction& made) {
    const uint64_t target = RealCpu::kCode + maker_.below(100000);
    const bool is_return = kind.name.find("ret") != std::string::npos;
    const uint64_t at = is_return ? made.general[4] : made.memory_address;
    if (!is_return && kind.operand != InstructionKind::Operand::kTarget) return;
    if (at != 0) std::memcpy(&RealCpu::data()[at - RealCpu::kData], &target, sizeof(target));
  }

  void compare(const InstructionKind& kind, const MadeInstruction& made) {
    place_target(kind, made);
    const arch::RegisterImage before = registers_for(made);
    fails_cleanly(made, before);
    arch::RegisterImage emulated = before;
    CopiedMemory memory;
    ASSERT_TRUE(cpu_.decode(RealCpu::kCode, made.bytes).can_emulate);
    ASSERT_TRUE(cpu_.emulate(RealCpu::kCode, made.bytes, emulated, memory));
    arch::RegisterImage real = before;
    ASSERT_EQ(real_.step(made.bytes, real), SIGTRAP) << "the CPU couldn't";
    ASSERT_TRUE(memory.equals_data());
    const uint64_t defined = kStatusFlags & ~made.undefined_flags;
    ASSERT_EQ(get(emulated, flags_place()) & defined, get(real, flags_place()) & defined)
        << std::hex << "before " << get(before, flags_place());
    put(real, flags_place(), get(emulated, flags_place()));
    for (unsigned i = 0; i < real.size / cpu_.word_bytes(); ++i) {
      ASSERT_EQ(get(emulated, i), get(real, i)) << "word " << i << std::hex << ", before " << get(before, i);
    }
  }

  // Wherever memory fails, nothing has changed.
  void fails_cleanly(const MadeInstruction& made, const arch::RegisterImage& before) const {
    for (unsigned allowed = 0; allowed < 4; ++allowed) {
      CopiedMemory memory(allowed);
      arch::RegisterImage registers = before;
      const bool done = cpu_.emulate(RealCpu::kCode, made.bytes, registers, memory);
      ASSERT_EQ(done, !memory.has_refused());
      if (done) return;
      ASSERT_TRUE(memory.equals_data());
      ASSERT_TRUE(std::ranges::equal(registers.bytes, before.bytes));
    }
  }

  static std::string text(const MadeInstruction& made) {
    std::string text;
    char digits[4];
    for (const uint8_t byte : made.bytes) {
      snprintf(digits, sizeof(digits), "%02x ", byte);
      text += digits;
    }
    return text;
  }

  const bool is_64_;
  const arch::Cpu& cpu_;
  RealCpu real_;
  tests::InstructionMaker maker_;
  const arch::RegisterImage initial_;
};

TEST_P(EmulateTest, DoesWhatTheCpuDoes) {
  ASSERT_TRUE(cpu_.runs(initial_));
  if (!is_64_ && !test::kernel_runs_32_bits()) HEAPTAP_SKIP_32_BITS();
  constexpr unsigned kTimes = 100;
  for (const InstructionKind& kind : tests::KindList::all()) {
    if (is_64_ ? !kind.in_64 : !kind.in_32) continue;
    for (unsigned i = 0; i < kTimes; ++i) {
      const MadeInstruction made = maker_.make(kind);
      SCOPED_TRACE(kind.name + ": " + text(made));
      compare(kind, made);
      if (HasFatalFailure()) break;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, EmulateTest, testing::Bool(),
                         [](const auto& mode) { return mode.param ? "Bits64" : "Bits32"; });

}  // namespace
}  // namespace heaptap
