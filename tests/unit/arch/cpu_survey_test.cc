// Where breakpoints go in the allocators and libraries of this machine, every instruction can be emulated: the first one of each
// watched function, its returns, and the jumps that leave it. HEAPTAP_SURVEY=1 prints them.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>

#include "common/arch/cpu.h"
#include "elf_functions.h"

namespace heaptap {
namespace {

using arch::Flow;
using arch::Instruction;
using tests::ElfFile;
using tests::ElfFunction;

// Of functions.def, in a 32-bit program's spelling too (size_t is `unsigned int` there).
std::set<std::string> watched_names() {
  std::set<std::string> names = {"exit", "_exit", "_Exit", "quick_exit", "_dl_debug_state"};
#define HEAPTAP_FUNCTION(enumerator, symbol, ...) \
  if (*#symbol != '\0') names.insert(#symbol);
#include "common/wire/functions.def"
  for (std::string name : std::set(names)) {
    const size_t at = name.starts_with("_Zn") ? 4 : 6;  // _Znwm, _ZdlPvm
    if (!name.starts_with("_Z") || name.size() <= at || name[at] != 'm') continue;
    name[at] = 'j';
    names.insert(name);
  }
  return names;
}

std::string digits(std::span<const uint8_t> bytes) {
  std::string text;
  char two[4];
  for (const uint8_t byte : bytes) {
    snprintf(two, sizeof(two), "%02x ", byte);
    text += two;
  }
  return text;
}

class Survey {
 public:
  explicit Survey(const ElfFile& file) : cpu_(*arch::cpu_of_elf(file.machine(), file.word_bytes())) {}

  void look_at(const ElfFunction& function) {
    ++functions;
    for (uint64_t at = 0; at < std::max<uint64_t>(function.size, 1);) {
      const auto bytes = std::span(function.bytes).subspan(at);
      const Instruction instruction = cpu_.decode(function.address + at, bytes);
      if (instruction.flow == Flow::kUnknown) {
        unknown.push_back(function.name + ": " + digits(bytes.first(std::min<size_t>(bytes.size(), 15))));
        return;
      }
      if (at == 0 || ends(instruction, function))
        note(function, at, bytes.first(instruction.length_bytes), instruction);
      at += instruction.length_bytes;
    }
  }

  unsigned functions = 0;
  std::map<std::string, unsigned> firsts;
  std::map<std::string, unsigned> lasts;
  std::vector<std::string> unknown;
  std::vector<std::string> missing;

 private:
  static bool ends(const Instruction& instruction, const ElfFunction& function) {
    if (instruction.flow == Flow::kReturn || instruction.flow == Flow::kIndirectJump) return true;
    if (instruction.flow != Flow::kJump && instruction.flow != Flow::kBranch) return false;
    return instruction.target - function.address >= function.size;
  }

  void note(const ElfFunction& function, uint64_t at, std::span<const uint8_t> bytes, const Instruction& instruction) {
    ++(at == 0 ? firsts : lasts)[digits(bytes)];
    if (!instruction.can_emulate) missing.push_back(function.name + ": " + digits(bytes));
  }

  const arch::Cpu& cpu_;
};

void print(const std::string& path, const Survey& survey) {
  printf("%s: %u functions\n", path.c_str(), survey.functions);
  for (const auto& [bytes, count] : survey.firsts) printf("  first  %4u %s\n", count, bytes.c_str());
  for (const auto& [bytes, count] : survey.lasts) printf("  last   %4u %s\n", count, bytes.c_str());
}

class SurveyTest : public testing::TestWithParam<std::string> {};

TEST_P(SurveyTest, BreakpointsStandOnInstructionsThatCanBeEmulated) {
  const ElfFile file(GetParam());
  if (!file.exists()) GTEST_SKIP() << GetParam() << " isn't on this machine";
  const std::set<std::string> names = watched_names();
  Survey survey(file);
  for (const ElfFunction& function : file.functions()) {
    if (names.contains(function.name)) survey.look_at(function);
  }
  EXPECT_GT(survey.functions, 0U);
  EXPECT_EQ(survey.missing, std::vector<std::string>());
  EXPECT_EQ(survey.unknown, std::vector<std::string>());
  if (std::getenv("HEAPTAP_SURVEY") != nullptr) print(GetParam(), survey);
}

std::vector<std::string> surveyed() {
  std::vector<std::string> paths;
  const std::string wide = "/usr/lib/x86_64-linux-gnu/";
  for (const char* name :
       {"libc.so.6", "libstdc++.so.6", "libjemalloc.so.2", "libmimalloc.so.2", "libtcmalloc_minimal.so.4"}) {
    paths.push_back(wide + name);
  }
  for (const char* name : {"/lib64/ld-linux-x86-64.so.2", "/usr/lib/x86_64-linux-musl/libc.so", "/lib32/libc.so.6",
                           "/lib32/ld-linux.so.2", "/usr/lib32/libstdc++.so.6"}) {
    paths.emplace_back(name);
  }
  const std::string targets = std::string(HEAPTAP_TARGETS) + "/";
  for (const char* variant : {"static64/", "static32/", "musl_static/", "dynamic32/", "musl/"}) {
    for (const char* name : {"own_malloc", "own_operator_new"}) paths.push_back(targets + variant + name);
  }
  // With an allocator of their C library's in them.
  for (const char* variant : {"static64/", "static32/", "musl_static/"}) {
    for (const char* name : {"malloc_family", "operator_new"}) paths.push_back(targets + variant + name);
  }
  return paths;
}

INSTANTIATE_TEST_SUITE_P(Files, SurveyTest, testing::ValuesIn(surveyed()));

}  // namespace
}  // namespace heaptap
