#include "analysis/query/register_names.h"

#include <fmt/format.h>

#include <array>

#include "common/wire/heap_scan.h"

namespace heaptap::query {

// System V ABI AMD64, figure 3.36; System V ABI Intel386, table 2.14; DWARF for the Arm 64-bit Architecture, 4.1.
std::string register_name(std::string_view architecture, uint64_t number) {
  if (number == wire::kSomeVectorRegister) return "a vector register";
  constexpr std::array<std::string_view, 17> kGeneral = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8",
                                                         "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "rip"};
  if (architecture == "x86_64") {
    if (number < kGeneral.size()) return std::string(kGeneral[number]);
    if (number >= 17 && number <= 32) return fmt::format("xmm{}", number - 17);
    if (number >= 33 && number <= 40) return fmt::format("st{}", number - 33);
    if (number >= 67 && number <= 82) return fmt::format("xmm{}", number - 67 + 16);
    if (number == 58) return "fs.base";
    if (number == 59) return "gs.base";
  }
  constexpr std::array<std::string_view, 9> kShort = {"eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi", "eip"};
  if (architecture == "i386") {
    if (number < kShort.size()) return std::string(kShort[number]);
    if (number >= 11 && number <= 18) return fmt::format("st{}", number - 11);
    if (number >= 21 && number <= 28) return fmt::format("xmm{}", number - 21);
    if (number == 93) return "fs.base";
    if (number == 94) return "gs.base";
  }
  if (architecture == "aarch64") {
    if (number < 31) return fmt::format("x{}", number);
    if (number == 31) return "sp";
    if (number == 32) return "pc";
    if (number == 36) return "tpidr_el0";
    if (number >= 64 && number <= 95) return fmt::format("v{}", number - 64);
  }
  return fmt::format("register {}", number);
}

}  // namespace heaptap::query
