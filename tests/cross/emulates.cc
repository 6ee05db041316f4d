// Emulated A64 instructions against the CPU that this runs on: random ones of each kind, with random registers, are executed by a child in
// a single step, and emulated. Registers, flags and memory are the same afterwards. Prints how many were compared; with what differs, and
// status 1, if something does.
#include <sys/ptrace.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "common/arch/aarch64/emulate.h"
#include "common/arch/aarch64/register_image.h"
#include "unit/arch/real_cpu.h"

namespace {

using heaptap::arch::RegisterImage;
namespace aarch64 = heaptap::arch::aarch64;

constexpr uint64_t kCode = heaptap::tests::RealCpu::kCode;
constexpr uint64_t kData = heaptap::tests::RealCpu::kData;
constexpr size_t kDataBytes = heaptap::tests::RealCpu::kDataBytes;
constexpr uint64_t kFlags = uint64_t{0xf} << 28;

enum class Memory { kNone, kOffset, kIndexed, kLiteral };
struct Kind {
  const char* name;
  uint32_t fixed;  // these bits are those of `bits`
  uint32_t bits;
  Memory memory = Memory::kNone;
};
constexpr Kind kKinds[] = {
    {"adr", 0x1f000000, 0x10000000},
    {"add immediate", 0x1f800000, 0x11000000},
    {"logical immediate", 0x1f800000, 0x12000000},
    {"move wide", 0x1f800000, 0x12800000},
    {"bit field", 0x1f800000, 0x13000000},
    {"extract", 0x7fa00000, 0x13800000},
    {"logical shifted", 0x1f000000, 0x0a000000},
    {"add shifted", 0x1f200000, 0x0b000000},
    {"add extended", 0x1fe00000, 0x0b200000},
    {"add with carry", 0x1fe0fc00, 0x1a000000},
    {"conditional compare", 0x3fe00410, 0x3a400000},
    {"conditional select", 0x3fe00800, 0x1a800000},
    {"of one", 0x7fffc000, 0x5ac00000},
    {"of two", 0x7fe0c000, 0x1ac00000},
    {"multiply", 0x7f000000, 0x1b000000},
    {"b, bl", 0x7c000000, 0x14000000},
    {"b.cond", 0xff000010, 0x54000000},
    {"cbz", 0x7e000000, 0x34000000},
    {"tbz", 0x7e000000, 0x36000000},
    {"br, blr, ret", 0xff9ffc1f, 0xd61f0000},
    {"hint", 0xfffff01f, 0xd503201f},
    {"load literal", 0x3b000000, 0x18000000, Memory::kLiteral},
    {"pair", 0x3a000000, 0x28000000, Memory::kOffset},
    {"unsigned offset", 0x3b000000, 0x39000000, Memory::kOffset},
    {"near", 0x3b200000, 0x38000000, Memory::kOffset},
    {"indexed", 0x3b200c00, 0x38200800, Memory::kIndexed},
};

// What the kernel has mapped for the code: all of its pages.
uint64_t code_bytes() {
  static const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return (heaptap::tests::RealCpu::kCodeBytes + page - 1) / page * page;
}

class Data final : public heaptap::arch::TargetMemory {
 public:
  explicit Data(const std::vector<uint8_t>& bytes) : bytes(bytes) {}
  bool read(uint64_t address, void* to, size_t count) override {
    if (address >= kCode && address + count <= kCode + code_bytes()) {
      std::memcpy(to, reinterpret_cast<const void*>(address), count);
      return true;
    }
    if (address < kData || address + count > kData + kDataBytes) return false;
    std::memcpy(to, &bytes[address - kData], count);
    return true;
  }
  bool write(uint64_t address, const void* from, size_t count) override {
    if (address < kData || address + count > kData + kDataBytes) return false;
    std::memcpy(&bytes[address - kData], from, count);
    return true;
  }
  std::vector<uint8_t> bytes;
};

class Comparison {
 public:
  // 0: not compared; 1: the same; -1: it differs.
  int compare(const Kind& kind) {
    const uint32_t word = kind.bits | (static_cast<uint32_t>(random_()) & ~kind.fixed);
    RegisterImage before = first_;
    prepare(kind, word, before);
    if (is_unpredictable(kind, word) || !aarch64::can_emulate(word)) return 0;
    std::vector<uint8_t> data(kDataBytes);
    for (uint8_t& byte : data) byte = static_cast<uint8_t>(random_());
    std::memcpy(reinterpret_cast<void*>(kData), data.data(), data.size());
    const uint64_t at = kCode + 2048;
    std::memcpy(reinterpret_cast<void*>(at), &word, sizeof(word));
    __builtin___clear_cache(reinterpret_cast<char*>(at), reinterpret_cast<char*>(at + 4));
    aarch64::set_word(before, aarch64::kProgramCounter, at);
    RegisterImage real = before;
    if (step(real) != SIGTRAP) return 0;  // it faults
    RegisterImage emulated = before;
    Data memory(data);
    const bool is_done = aarch64::emulate(word, at, emulated, memory);
    const bool is_same = is_done && is_equal(real, emulated) &&
                         std::memcmp(memory.bytes.data(), reinterpret_cast<const void*>(kData), kDataBytes) == 0;
    if (!is_same) describe(kind, word, before, real, emulated, is_done);
    return is_same ? 1 : -1;
  }

 private:
  // The signal that ends the step.
  int step(RegisterImage& image) const { return cpu_.go_on(image, PTRACE_SINGLESTEP) ? cpu_.wait(image) : -1; }

  // Few bits or many; addresses in the data where that is needed.
  void prepare(const Kind& kind, uint32_t word, RegisterImage& image) {
    for (unsigned i = 0; i < 31; ++i) {
      const uint64_t number = random_() >> (random_() % 64);
      aarch64::set_word(image, i, random_() % 4 == 0 ? ~number : number);
    }
    aarch64::set_word(image, aarch64::kStackPointer, kData + kDataBytes / 2);
    aarch64::set_word(image, aarch64::kProcessorState, random_() & kFlags);
    const unsigned first = word >> 5 & 31;
    const unsigned second = word >> 16 & 31;
    if (kind.memory == Memory::kIndexed && second < 31) aarch64::set_word(image, second, random_() % 512 - 256);
    const bool is_branch = kind.fixed == 0xff9ffc1f;
    if (is_branch || kind.memory == Memory::kOffset || kind.memory == Memory::kIndexed)
      aarch64::set_word(image, first, kData + kDataBytes / 2 + 16 * (random_() % 64));
  }

  // The manual permits anything there.
  static bool is_unpredictable(const Kind& kind, uint32_t word) {
    const unsigned destination = word & 31;
    const unsigned first = word >> 5 & 31;
    const unsigned second = word >> 10 & 31;
    const bool is_pair = kind.fixed == 0x3a000000;
    if (kind.memory == Memory::kIndexed) return first == (word >> 16 & 31);
    if (is_pair && destination == second) return true;
    return kind.memory == Memory::kOffset && first != 31 && (destination == first || (is_pair && second == first));
  }

  static bool is_equal(const RegisterImage& a, const RegisterImage& b) {
    for (unsigned i = 0; i < aarch64::kProcessorState; ++i) {
      if (aarch64::word(a, i) != aarch64::word(b, i)) return false;
    }
    return ((aarch64::word(a, aarch64::kProcessorState) ^ aarch64::word(b, aarch64::kProcessorState)) & kFlags) == 0;
  }

  static void describe(const Kind& kind, uint32_t word, const RegisterImage& before, const RegisterImage& real,
                       const RegisterImage& emulated, bool is_done) {
    printf("%s: %08x%s\n", kind.name, word, is_done ? "" : " isn't emulated");
    for (unsigned i = 0; i < aarch64::kWords; ++i) {
      if (aarch64::word(real, i) == aarch64::word(emulated, i)) continue;
      printf("  word %u: before %lx, the CPU %lx, emulated %lx\n", i, aarch64::word(before, i), aarch64::word(real, i),
             aarch64::word(emulated, i));
    }
  }

  std::mt19937_64 random_{7};
  heaptap::tests::RealCpu cpu_{true};
  RegisterImage first_ = cpu_.registers();
};

}  // namespace

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 100;
  Comparison comparison;
  int status = 0;
  for (const Kind& kind : kKinds) {
    int same = 0;
    int differ = 0;
    for (int i = 0; i < rounds * 20 && same < rounds && differ < 5; ++i) {
      const int result = comparison.compare(kind);
      same += result == 1 ? 1 : 0;
      differ += result == -1 ? 1 : 0;
    }
    printf("%s: %d compared\n", kind.name, same);
    if (differ > 0 || same == 0) status = 1;
  }
  return status;
}
