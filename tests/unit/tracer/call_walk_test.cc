// Call stacks of programs that are held at a known place (fixtures/held_stacks.c), in all the ways that they can be built.
#include "capture/tracer/call_walk.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <random>
#include <string>

#include "kernel_facts.h"
#include "rounds.h"
#include "written_log.h"

namespace heaptap::tracer {
namespace {

// The program, from its start on; it is ended with the object.
class HeldProgram {
 public:
  HeldProgram(const std::string& build, const std::string& scenario) {
    const std::string path = std::string(HEAPTAP_HELD_STACKS) + "/" + build;
    int ends[2];
    if (pipe(ends) != 0) std::abort();
    const pid_t parent = getpid();
    process_ = fork();
    if (process_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(0);
      dup2(ends[1], STDOUT_FILENO);
      close(ends[0]);
      close(ends[1]);
      execl(path.c_str(), path.c_str(), scenario.c_str(), nullptr);
      _exit(127);
    }
    close(ends[1]);
    from_program_ = ends[0];
    read_expected();
  }
  ~HeldProgram() {
    if (process_ > 0) {
      kill(process_, SIGKILL);
      waitpid(process_, nullptr, 0);
    }
    close(from_program_);
  }
  HeldProgram(const HeldProgram&) = delete;
  HeldProgram& operator=(const HeldProgram&) = delete;

  // Until it stands at mark(). False: it has ended.
  bool go_on() {
    int signal = 0;
    for (;;) {
      if (was_stopped_ && ptrace(PTRACE_CONT, process_, nullptr, signal) != 0) return false;
      int status = 0;
      if (waitpid(process_, &status, 0) != process_ || !WIFSTOPPED(status)) {
        process_ = -1;
        return false;
      }
      was_stopped_ = true;
      signal = WSTOPSIG(status);
      if (signal == SIGTRAP) return true;
    }
  }

  [[nodiscard]] pid_t id() const { return process_; }
  [[nodiscard]] const std::vector<uint64_t>& expected() const { return expected_; }
  [[nodiscard]] arch::RegisterImage registers() const {
    arch::RegisterImage image;
    iovec place{image.bytes, sizeof(image.bytes)};
    if (ptrace(PTRACE_GETREGSET, process_, NT_PRSTATUS, &place) == 0) image.size = place.iov_len;
    return image;
  }

 private:
  void read_expected() {
    uint64_t count = 0;
    if (!read_all(&count, sizeof(count)) || count > 100'000) return;
    expected_.resize(count);
    if (!read_all(expected_.data(), count * sizeof(uint64_t))) expected_.clear();
  }
  bool read_all(void* to, size_t bytes) const {
    for (size_t done = 0; done < bytes;) {
      const ssize_t got = read(from_program_, static_cast<char*>(to) + done, bytes - done);
      if (got <= 0) return false;
      done += static_cast<size_t>(got);
    }
    return true;
  }

  pid_t process_ = -1;
  int from_program_ = -1;
  bool was_stopped_ = false;
  std::vector<uint64_t> expected_;
};

// All that a walk needs, for a program that stands still.
class Walked {
 public:
  explicit Walked(const HeldProgram& program, uint32_t depth = 0)
      : program_(program),
        memory_(program.id()),
        cpu_(*cpu_for(program)),
        objects_(program.id(), memory_, cpu_),
        log_writer_(log_.writer()),
        walk_(cpu_, memory_, objects_, *log_writer_, depth),
        last_(walk_.make_last_stack()) {
    for (const uint32_t index : objects_.refresh().came) {
      walk_.object_came(index, log_writer_->add_module(objects_.objects()[index]));
    }
  }

  static const arch::Cpu* cpu_for(const HeldProgram& program) {
    const arch::RegisterImage registers = program.registers();
    for (const auto architecture : {wire::Architecture::kX86_64, wire::Architecture::kI386}) {
      const arch::Cpu* cpu = arch::cpu_of(architecture);
      if (cpu != nullptr && cpu->runs(registers)) return cpu;
    }
    return nullptr;
  }

  // At the call of mark(), whose first instruction was the trap.
  CallWalk::Start start() {
    arch::RegisterImage registers = program_.registers();
    arch::CallPlace place;
    EXPECT_TRUE(cpu_.call_place(registers, memory_, place));
    return {program_.id(), place.return_address, place.slot, place.caller_stack_pointer, cpu_.frame_pointer(registers)};
  }
  uint32_t number() { return walk_.walk(start(), *last_); }
  uint32_t number_again() {
    const auto last = walk_.make_last_stack();
    return walk_.walk(start(), *last);
  }
  test::WrittenLog::Stack stack() { return log_.stack(number()); }

  CallWalk& walk() { return walk_; }
  LastStack& last() { return *last_; }
  process::TracedMemory& memory() { return memory_; }
  LoadedObjects& objects() { return objects_; }
  test::WrittenLog& log() { return log_; }

 private:
  const HeldProgram& program_;
  process::TracedMemory memory_;
  const arch::Cpu& cpu_;
  LoadedObjects objects_;
  test::WrittenLog log_;
  std::unique_ptr<LogWriter> log_writer_;
  CallWalk walk_;
  std::unique_ptr<LastStack, void (*)(LastStack*)> last_;
};

uint64_t pc_of(uint64_t code) { return wire::code_address(code) - ((code & wire::kCodeExact) != 0 ? 0 : 1); }

// What called main() has no tables in musl.
wire::StackEnd end_of(const std::string& build) {
  return build == "musl" ? wire::StackEnd::kNoUnwindTable : wire::StackEnd::kComplete;
}

void expect_frames(const test::WrittenLog::Stack& stack, const std::vector<uint64_t>& expected) {
  ASSERT_GE(stack.codes.size(), expected.size())
      << "the last is 0x" << std::hex << (stack.codes.empty() ? 0 : stack.codes.back());
  for (size_t i = 0; i < expected.size(); ++i) {
    if (expected[i] == 0) continue;
    const uint64_t distance = pc_of(stack.codes[i]) - expected[i];
    const uint64_t most = i + 1 == expected.size() ? 4096 : 1024;  // main() is the last one
    ASSERT_LT(distance, most) << "frame " << i << " is at 0x" << std::hex << stack.codes[i] << ", not in 0x"
                              << expected[i];
  }
}

// One build of the program.
class CallWalkTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(std::string(HEAPTAP_HELD_STACKS) + "/" + GetParam())) {
      GTEST_SKIP() << "not built here";
    }
    if (test::is_beyond_kernel(GetParam())) HEAPTAP_SKIP_32_BITS();
  }
  static void expect_scenario(const std::string& scenario) {
    SCOPED_TRACE(scenario);
    HeldProgram program(GetParam(), scenario);
    ASSERT_TRUE(program.go_on());
    Walked walked(program);
    const test::WrittenLog::Stack first = walked.stack();
    expect_frames(first, program.expected());
    EXPECT_EQ(first.end, end_of(GetParam()));
    EXPECT_EQ(walked.stack().codes, first.codes) << "and again";
  }
};

TEST_P(CallWalkTest, FramesOfAllShapes) { expect_scenario("plain"); }

// Of a stack deeper than those that are kept whole the innermost frames are.
TEST_P(CallWalkTest, DeepRecursion) {
  HeldProgram program(GetParam(), "deep");
  ASSERT_TRUE(program.go_on());
  std::vector<uint64_t> expected = program.expected();
  ASSERT_GT(expected.size(), size_t{wire::kWholeFrames});
  Walked walked(program);
  const test::WrittenLog::Stack first = walked.stack();
  ASSERT_GE(first.codes.size(), size_t{wire::kMinOfDeeper});
  ASSERT_LE(first.codes.size(), size_t{wire::kMaxOfDeeper});
  expected.resize(first.codes.size());
  expect_frames(first, expected);
  EXPECT_EQ(first.end, wire::StackEnd::kDepthLimit);
  EXPECT_EQ(walked.stack().codes, first.codes) << "and again";
}

TEST_P(CallWalkTest, SignalHandlers) {
  expect_scenario("signal");
  expect_scenario("signal-info");
}

TEST_P(CallWalkTest, SignalHandlersOnAStackOfTheirOwn) {
  expect_scenario("signal-stack");
  expect_scenario("signal-info-stack");
}

TEST_P(CallWalkTest, CodeWithoutTables) {
  expect_scenario("assembly");
  expect_scenario("generated");
}

TEST_P(CallWalkTest, CodeOfTheVdso) {
  HeldProgram program(GetParam(), "vdso");
  if (!program.go_on()) GTEST_SKIP() << "this kernel's vDSO asks the kernel";
  Walked walked(program);
  const test::WrittenLog::Stack stack = walked.stack();
  ASSERT_GE(stack.codes.size(), 3u);
  EXPECT_NE(stack.codes[2] & wire::kCodeExact, 0u);
  const int index = walked.objects().find(pc_of(stack.codes[2]));
  const auto& objects = walked.objects().objects();
  if (index < 0 || (objects[static_cast<size_t>(index)].flags & wire::kModuleIsVdso) == 0) {
    GTEST_SKIP() << "this C library writes the time itself";
  }
  EXPECT_EQ(stack.end, end_of(GetParam()));
  // A static C library has a function of its own between.
  const std::vector<uint64_t>& expected = program.expected();
  const uint64_t caller = expected[expected.size() - 2];
  EXPECT_TRUE(std::ranges::any_of(stack.codes, [caller](uint64_t code) { return pc_of(code) - caller < 1024; }));
}

TEST_P(CallWalkTest, StacksThatChangeAreWhatAWalkFromTheStartFinds) {
  HeldProgram program(GetParam(), "wander");
  ASSERT_TRUE(program.go_on());
  Walked walked(program);
  uint32_t stacks = 0;
  do {
    const uint32_t number = walked.number();
    ASSERT_EQ(number, walked.number_again()) << "stack " << stacks;
    ASSERT_EQ(walked.log().stack(number).end, end_of(GetParam())) << "stack " << stacks;
  } while (++stacks < 3000 && program.go_on());
  EXPECT_GT(stacks, 1000u);
}

TEST_P(CallWalkTest, OnlyAsDeepAsAskedFor) {
  HeldProgram program(GetParam(), "plain");
  ASSERT_TRUE(program.go_on());
  Walked all(program);
  const std::vector<uint64_t> codes = all.stack().codes;
  for (uint32_t depth = 1; depth < codes.size() + 2; ++depth) {
    Walked walked(program, depth);
    const test::WrittenLog::Stack stack = walked.stack();
    const size_t kept = std::min<size_t>(depth, codes.size());
    EXPECT_EQ(stack.codes, std::vector<uint64_t>(codes.begin(), codes.begin() + static_cast<ptrdiff_t>(kept)));
    EXPECT_EQ(stack.end, depth < codes.size() ? wire::StackEnd::kDepthLimit : end_of(GetParam()));
  }
}

TEST_P(CallWalkTest, DamagedStacksAndTablesEndTheWalk) {
  HeldProgram program(GetParam(), "plain");
  ASSERT_TRUE(program.go_on());
  std::mt19937 random(1);
  Walked honest(program);
  const CallWalk::Start start = honest.start();
  std::vector<std::pair<uint64_t, uint64_t>> places{{start.slot, start.slot + 600}};
  for (const LoadedObject& object : honest.objects().objects()) {
    if (object.unwind_header != 0) places.emplace_back(object.unwind_header, object.unwind_header + 2000);
    if (object.unwind_table != 0) places.emplace_back(object.unwind_table, object.unwind_table + 2000);
  }
  for (int round = 0; round < test::rounds(60, 300); ++round) {
    for (int damage = 0; damage < 4; ++damage) {
      const auto& [begin, end] = places[random() % places.size()];
      const auto byte = static_cast<uint8_t>(random() % 4 == 0 ? 0xff : random());
      honest.memory().write(begin + random() % (end - begin), &byte, 1);
    }
    CallWalk::Start wrong = start;
    if (round % 3 == 0) wrong.frame_pointer += random() % 65536 * 8;
    if (round % 7 == 0) wrong.stack_pointer = uint64_t{random()} << 32 | random();
    if (round % 11 == 0) wrong.frame_pointer = UINT64_MAX - random() % 64;
    honest.walk().walk(wrong, honest.last());  // rules of before, another stack
    Walked fresh(program);
    const uint32_t number = fresh.walk().walk(wrong, fresh.last());
    EXPECT_LE(static_cast<uint32_t>(fresh.log().stack(number).end), static_cast<uint32_t>(wire::StackEnd::kTableFull));
  }
}

INSTANTIATE_TEST_SUITE_P(Builds, CallWalkTest,
                         ::testing::Values("plain", "unoptimised", "frame_pointers", "static", "no_header",
                                           "static_no_header", "debug_frame", "stripped", "musl", "plain_32",
                                           "unoptimised_32", "frame_pointers_32", "static_32", "no_header_32",
                                           "static_no_header_32", "debug_frame_32"),
                         [](const auto& build) { return build.param; });

}  // namespace
}  // namespace heaptap::tracer
