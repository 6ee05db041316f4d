// Lengths, flows and targets of instructions are those that objdump sees, over whole libraries.
#include <gtest/gtest.h>

#include <charconv>
#include <filesystem>

#include "common/arch/cpu.h"
#include "disassembly.h"

namespace heaptap {
namespace {

using arch::Flow;
using arch::Instruction;
using tests::DisassembledLine;
using tests::Disassembly;

const arch::Cpu& x86_64() { return *arch::cpu_of(wire::Architecture::kX86_64); }
const arch::Cpu& i386() { return *arch::cpu_of(wire::Architecture::kI386); }

bool has_target(Flow flow, const DisassembledLine& line) {
  return flow == Flow::kJump || flow == Flow::kBranch || (flow == Flow::kCall && !line.operands.starts_with('*'));
}

std::string disagreement(const arch::Cpu& cpu, DisassembledLine& line) {
  // objdump takes `fwait` and the x87 instruction behind it for one.
  if (line.bytes.size() > 1 && line.bytes[0] == 0x9b) {
    line.bytes.erase(line.bytes.begin());
    ++line.address;
  }
  const Instruction instruction = cpu.decode(line.address, line.bytes);
  if (instruction.length_bytes != line.bytes.size()) return "length " + std::to_string(instruction.length_bytes);
  const Flow flow = flow_of(line);
  if (instruction.flow != flow) return "flow " + std::to_string(static_cast<int>(instruction.flow));
  if (!has_target(flow, line)) return {};
  uint64_t target = 0;
  std::from_chars(line.operands.data(), line.operands.data() + line.operands.size(), target, 16);
  return instruction.target == target ? std::string() : "target " + std::to_string(instruction.target);
}

void agrees_with_objdump(const arch::Cpu& cpu, const char* file) {
  if (!std::filesystem::exists(file)) GTEST_SKIP() << file;
  Disassembly disassembly(file);
  DisassembledLine line;
  size_t seen = 0;
  size_t wrong = 0;
  for (; disassembly.next(line); ++seen) {
    const uint64_t address = line.address;
    const std::string what = disagreement(cpu, line);
    if (what.empty()) continue;
    if (++wrong <= 20) ADD_FAILURE() << std::hex << address << ": " << line.text << ": " << what;
  }
  EXPECT_EQ(wrong, 0U) << "of " << seen;
  EXPECT_GT(seen, 1000U) << "objdump says nothing";
}

class Decode64 : public testing::TestWithParam<const char*> {};
TEST_P(Decode64, AgreesWithObjdump) { agrees_with_objdump(x86_64(), GetParam()); }
INSTANTIATE_TEST_SUITE_P(Files, Decode64,
                         testing::Values("/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2",
                                         "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
                                         "/usr/lib/x86_64-linux-gnu/libm.so.6",
                                         "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2",
                                         "/usr/lib/x86_64-linux-musl/libc.so"));

class Decode32 : public testing::TestWithParam<const char*> {};
TEST_P(Decode32, AgreesWithObjdump) { agrees_with_objdump(i386(), GetParam()); }
INSTANTIATE_TEST_SUITE_P(Files, Decode32,
                         testing::Values("/lib32/libc.so.6", "/lib32/ld-linux.so.2", "/usr/lib32/libstdc++.so.6",
                                         "/lib32/libm.so.6"));

}  // namespace
}  // namespace heaptap
