// Code of any content: an instruction is no longer than its bytes, what can't be emulated leaves everything as it was, and
// nothing behind an instruction matters to it. The input is the mode, a word for the registers, and code.
#include <cstdint>
#include <cstring>
#include <vector>

#include "common/arch/cpu.h"
#include "fuzz/support/byte_source.h"
#include "fuzz/support/expect.h"

using namespace heaptap;

namespace {

constexpr uint64_t kMemory = 0x10000;

// Holds whatever is asked for below its end. Counts what is written.
class SmallMemory final : public arch::TargetMemory {
 public:
  bool read(uint64_t address, void* to, size_t bytes) override {
    if (!holds(address, bytes)) return false;
    std::memset(to, static_cast<int>(address & 0xff), bytes);
    return true;
  }
  bool write(uint64_t address, const void*, size_t bytes) override {
    if (!holds(address, bytes)) return false;
    ++writes;
    return true;
  }
  unsigned writes = 0;

 private:
  static bool holds(uint64_t address, size_t bytes) { return address < kMemory && bytes <= kMemory - address; }
};

arch::RegisterImage registers_of(const arch::Cpu& cpu, fuzz::ByteSource& source) {
  arch::RegisterImage image;
  const bool is_64 = cpu.word_bytes() == 8;
  image.size = is_64 ? 27 * 8 : 17 * 4;
  const std::span<const uint8_t> pattern = source.bytes(8);
  for (size_t i = 0; i < image.size && !pattern.empty(); ++i) image.bytes[i] = pattern[i * 5 % pattern.size()];
  if (!is_64) image.bytes[28] = image.bytes[64] = 0x2b;  // flat segments: xds, xss
  if (!is_64) image.bytes[29] = image.bytes[65] = 0;
  return image;
}

void emulate(const arch::Cpu& cpu, std::span<const uint8_t> code, const arch::Instruction& instruction,
             const arch::RegisterImage& before) {
  SmallMemory memory;
  arch::RegisterImage registers = before;
  const bool done = cpu.emulate(kMemory, code, registers, memory);
  FUZZ_EXPECT(!done || instruction.can_emulate);
  FUZZ_EXPECT(memory.writes <= (done ? 1U : 0U));
  if (!done) FUZZ_EXPECT(std::memcmp(&registers, &before, sizeof(before)) == 0);
  if (done && instruction.flow == arch::Flow::kNext) {
    FUZZ_EXPECT(cpu.program_counter(registers) == kMemory + instruction.length_bytes);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size_bytes) {
  fuzz::ByteSource source(bytes, size_bytes);
  const bool is_64 = (source.take<uint8_t>() & 1) == 0;
  const arch::Cpu& cpu = *arch::cpu_of(is_64 ? wire::Architecture::kX86_64 : wire::Architecture::kI386);
  const arch::RegisterImage registers = registers_of(cpu, source);
  const std::span<const uint8_t> rest = source.rest();
  for (size_t at = 0; at < rest.size();) {
    // Of exactly this size, so that one byte more is noticed.
    const std::vector<uint8_t> code(rest.begin() + static_cast<std::ptrdiff_t>(at), rest.end());
    const arch::Instruction instruction = cpu.decode(kMemory, code);
    FUZZ_EXPECT((instruction.flow == arch::Flow::kUnknown) == (instruction.length_bytes == 0));
    FUZZ_EXPECT(instruction.length_bytes <= 15 && instruction.length_bytes <= code.size());
    FUZZ_EXPECT(!instruction.can_emulate || instruction.length_bytes != 0);
    emulate(cpu, code, instruction, registers);
    const arch::Instruction alone = cpu.decode(kMemory, std::span(code).first(instruction.length_bytes));
    FUZZ_EXPECT(alone.length_bytes == instruction.length_bytes && alone.target == instruction.target);
    at += instruction.length_bytes == 0 ? 1 : instruction.length_bytes;
  }
  return 0;
}
