// What a tracer reads out of registers, and what it does with them: against a real thread where there is one to ask.
#include "common/arch/cpu.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/user.h>
#include <ucontext.h>

#include <array>
#include <cstddef>
#include <fstream>

#include "kernel_facts.h"
#include "real_cpu.h"

namespace heaptap {
namespace {

using arch::CallPlace;
using arch::RegisterImage;
using arch::SignalActionCall;
using tests::RealCpu;

const arch::Cpu& x86_64() { return *arch::cpu_of(wire::Architecture::kX86_64); }
const arch::Cpu& i386() { return *arch::cpu_of(wire::Architecture::kI386); }

template <typename Word>
RegisterImage image_of(size_t words, std::initializer_list<std::pair<unsigned, Word>> values) {
  RegisterImage image;
  image.size = words * sizeof(Word);
  for (const auto& [index, value] : values) std::memcpy(image.bytes + index * sizeof(Word), &value, sizeof(Word));
  return image;
}

// Memory that holds the numbers of its own words: at 0x1000 100, at the next word 101, …
template <typename Word>
class NumberedMemory final : public arch::TargetMemory {
 public:
  bool read(uint64_t address, void* to, size_t bytes) override {
    if (address < 0x1000 || address >= 0x2000 || bytes != sizeof(Word)) return false;
    const auto value = static_cast<Word>(100 + (address - 0x1000) / sizeof(Word));
    std::memcpy(to, &value, sizeof(Word));
    return true;
  }
  bool write(uint64_t, const void*, size_t) override { return false; }
};

TEST(CpuTest, IsFoundByNumberAndByElfHeader) {
  EXPECT_EQ(arch::cpu_of(wire::Architecture::kUnknown), nullptr);
  EXPECT_EQ(arch::cpu_of_elf(EM_X86_64, 8), &x86_64());
  EXPECT_EQ(arch::cpu_of_elf(EM_386, 4), &i386());
  EXPECT_EQ(arch::cpu_of_elf(EM_X86_64, 4), nullptr);  // x32
}

TEST(CpuTest, FindsPlaceAndArgumentsOfACall) {
  NumberedMemory<uint64_t> memory;
  const auto registers = image_of<uint64_t>(27, {{19, 0x1010}, {14, 1}, {13, 2}, {12, 3}, {11, 4}, {9, 5}, {8, 6}});
  CallPlace place;
  ASSERT_TRUE(x86_64().call_place(registers, memory, place));
  EXPECT_EQ(place.return_address, 102U);
  EXPECT_EQ(place.slot, 0x1010U);
  EXPECT_EQ(place.entry_stack_pointer, 0x1010U);
  EXPECT_EQ(place.caller_stack_pointer, 0x1018U);
  EXPECT_TRUE(x86_64().returns_from(registers, place));
  constexpr std::array<uint64_t, 8> kExpected = {1, 2, 3, 4, 5, 6, 103, 104};
  for (unsigned i = 0; i < kExpected.size(); ++i) {
    uint64_t value = 0;
    ASSERT_TRUE(x86_64().argument(registers, memory, i, value));
    EXPECT_EQ(value, kExpected[i]);
  }
}

TEST(CpuTest, ChangesAnArgumentOfACall) {
  NumberedMemory<uint64_t> memory;  // that can't be written
  auto registers = image_of<uint64_t>(27, {{19, 0x1010}, {12, 3}});
  uint64_t value = 0;
  ASSERT_TRUE(x86_64().set_argument(registers, memory, 2, 0x800100));
  ASSERT_TRUE(x86_64().argument(registers, memory, 2, value));
  EXPECT_EQ(value, 0x800100U);
  EXPECT_FALSE(x86_64().set_argument(registers, memory, 6, 1));
  auto narrow = image_of<uint32_t>(17, {{15, 0x1ff8}});
  EXPECT_FALSE(i386().set_argument(narrow, memory, 2, 1));
}

TEST(CpuTest, FindsPlaceAndArgumentsOf32BitCallOnTheStack) {
  NumberedMemory<uint32_t> memory;
  const auto registers = image_of<uint32_t>(17, {{15, 0x1ff8}});
  CallPlace place;
  ASSERT_TRUE(i386().call_place(registers, memory, place));
  EXPECT_EQ(place.return_address, 100U + 0xff8 / 4);
  EXPECT_EQ(place.caller_stack_pointer, 0x1ffcU);
  uint64_t value = 0;
  ASSERT_TRUE(i386().argument(registers, memory, 0, value));
  EXPECT_EQ(value, 100U + 0xffc / 4);
  EXPECT_FALSE(i386().argument(registers, memory, 1, value)) << "beyond the stack";
}

TEST(CpuTest, TellsModesApart) {
  for (const bool is_64 : {true, false}) {
    const RealCpu real(is_64);
    EXPECT_EQ(x86_64().runs(real.registers()), is_64);
    EXPECT_EQ(i386().runs(real.registers()), !is_64);
  }
}

TEST(CpuTest, FindsTheBreakpointThatAThreadHasHit) {
  for (const arch::Cpu* cpu : {&x86_64(), &i386()}) {
    if (cpu == &i386() && !test::kernel_runs_32_bits()) HEAPTAP_SKIP_32_BITS();
    const RealCpu real(cpu == &x86_64());
    RegisterImage registers = real.registers();
    cpu->set_program_counter(registers, RealCpu::kCode);
    ASSERT_EQ(real.step(cpu->breakpoint(), registers), SIGTRAP);
    EXPECT_EQ(cpu->breakpoint_address(registers), RealCpu::kCode);
  }
}

// The registers of a handler's end as the kernel finds them: SP where the frame's pieces begin.
TEST(CpuTest, KnowsTheEndOfASignalHandler) {
  NumberedMemory<uint64_t> wide_memory;
  uint64_t resumed_at = 0;
  const auto wide = [](uint64_t number) { return image_of<uint64_t>(27, {{15, number}, {19, 0x1000}, {17, 0x33}}); };
  ASSERT_TRUE(x86_64().ends_handler(wide(15), wide_memory, resumed_at));
  EXPECT_EQ(resumed_at, 100U + offsetof(ucontext_t, uc_mcontext.gregs[REG_RSP]) / 8);
  EXPECT_FALSE(x86_64().ends_handler(wide(1), wide_memory, resumed_at));
  EXPECT_FALSE(x86_64().ends_handler(wide(uint64_t(-1)), wide_memory, resumed_at));

  NumberedMemory<uint32_t> narrow_memory;
  const auto narrow = [](uint32_t number) { return image_of<uint32_t>(17, {{11, number}, {15, 0x1010}, {13, 0x23}}); };
  // Behind number, two pointers, siginfo and five words: gs, fs, es, ds, edi, esi, ebp, esp.
  ASSERT_TRUE(i386().ends_handler(narrow(173), narrow_memory, resumed_at));
  EXPECT_EQ(resumed_at, 104U + 3 + 128 / 4 + 5 + 7);
  // Behind the number, which was taken off the stack.
  ASSERT_TRUE(i386().ends_handler(narrow(119), narrow_memory, resumed_at));
  EXPECT_EQ(resumed_at, 104U + 7);
  EXPECT_FALSE(i386().ends_handler(narrow(15), narrow_memory, resumed_at));
}

TEST(CpuTest, KnowsTheCallForASignalsAction) {
  SignalActionCall call;
  const auto wide = [](uint64_t number) {
    return image_of<uint64_t>(27, {{15, number}, {14, 5}, {13, 0x100}, {12, 0x200}, {17, 0x33}});
  };
  ASSERT_TRUE(x86_64().is_signal_action(wide(13), call));
  EXPECT_EQ(call.signal, 5U);
  EXPECT_EQ(call.action, 0x100U);
  EXPECT_EQ(call.before, 0x200U);
  EXPECT_FALSE(x86_64().is_signal_action(wide(14), call));
  const auto narrow = [](uint32_t number) {
    return image_of<uint32_t>(17, {{11, number}, {0, 6}, {1, 0x300}, {2, 0x400}, {13, 0x23}});
  };
  ASSERT_TRUE(i386().is_signal_action(narrow(174), call));
  EXPECT_EQ(call.signal, 6U);
  EXPECT_EQ(call.action, 0x300U);
  EXPECT_EQ(call.before, 0x400U);
  EXPECT_FALSE(i386().is_signal_action(narrow(13), call));
}

TEST(CpuTest, RestartsACallThatDidNothing) {
  const auto wide = [](uint64_t number, uint64_t result) {
    return image_of<uint64_t>(27, {{15, number}, {10, result}, {17, 0x33}});
  };
  const auto narrow = [](uint32_t number, uint32_t result) {
    return image_of<uint32_t>(17, {{11, number}, {6, result}, {13, 0x23}});
  };
  constexpr uint32_t kInterrupted = static_cast<uint32_t>(-4);
  RegisterImage poll64 = wide(7, static_cast<uint64_t>(-4));
  EXPECT_TRUE(x86_64().restart_interrupted_call(poll64));
  EXPECT_EQ(x86_64().result(poll64), static_cast<uint64_t>(-514));
  RegisterImage poll32 = narrow(168, kInterrupted);
  EXPECT_TRUE(i386().restart_interrupted_call(poll32));
  EXPECT_EQ(i386().result(poll32), static_cast<uint32_t>(-514));
  RegisterImage close32 = narrow(6, kInterrupted);
  EXPECT_FALSE(i386().restart_interrupted_call(close32));
  RegisterImage done32 = narrow(168, 1);
  EXPECT_FALSE(i386().restart_interrupted_call(done32));
  RegisterImage outside = narrow(static_cast<uint32_t>(-1), kInterrupted);
  EXPECT_FALSE(i386().restart_interrupted_call(outside));
}

// Of all that a call may say in a stop for a signal, only the result that becomes EINTR behind any handler has it begin again.
TEST(CpuTest, RepeatsACallThatAnyHandlerEnds) {
  NumberedMemory<uint64_t> memory;
  constexpr int64_t kCall = 34;
  for (int64_t result = -600; result <= 10; ++result) {
    for (const int64_t call : {kCall, int64_t{-1}}) {
      SCOPED_TRACE(testing::Message() << "call " << call << ", result " << result);
      RegisterImage wide = image_of<int64_t>(27, {{15, call}, {10, result}, {16, 0x401002}, {17, 0x33}});
      RegisterImage narrow = image_of<int32_t>(
          17, {{11, static_cast<int32_t>(call)}, {6, static_cast<int32_t>(result)}, {12, 0x401002}, {13, 0x23}});
      const bool begins = call == kCall && result == -514;
      ASSERT_EQ(x86_64().repeat_call(wide, memory), begins);
      ASSERT_EQ(i386().repeat_call(narrow, memory), begins);
      if (!begins) continue;
      EXPECT_EQ(x86_64().result(wide), static_cast<uint64_t>(kCall));
      EXPECT_EQ(i386().result(narrow), static_cast<uint64_t>(kCall));
      EXPECT_EQ(x86_64().program_counter(wide), 0x401000U);
      EXPECT_EQ(i386().program_counter(narrow), 0x401000U);
      EXPECT_FALSE(x86_64().repeat_call(wide, memory)) << "the kernel would move it back, too";
      EXPECT_FALSE(i386().repeat_call(narrow, memory));
    }
  }
}

TEST(CpuTest, KnowsWhatMakesThreadsAndProcesses) {
  for (const uint64_t number : {56, 57, 58, 435}) EXPECT_TRUE(x86_64().makes_tasks(number)) << number;
  for (const uint64_t number : {2, 120, 190, 435}) EXPECT_TRUE(i386().makes_tasks(number)) << number;
  for (const uint64_t number : {0, 2, 59, 202}) EXPECT_FALSE(x86_64().makes_tasks(number)) << number;
  for (const uint64_t number : {1, 56, 57, 240}) EXPECT_FALSE(i386().makes_tasks(number)) << number;
}

bool is_in_system_call(pid_t process, int number) {
  std::ifstream in("/proc/" + std::to_string(process) + "/syscall");
  std::string first;
  return in >> first && first == std::to_string(number);
}

// epoll_wait(epoll, events, 1, -1) gives EINTR when a stop interrupts it.
TEST(CpuTest, InterruptedCallGoesOnInTheKernel) {
  const int epoll = epoll_create1(0);
  const int event = eventfd(0, 0);
  epoll_event wanted{.events = EPOLLIN, .data = {.fd = event}};
  ASSERT_EQ(epoll_ctl(epoll, EPOLL_CTL_ADD, event, &wanted), 0);
  const auto put = [](RegisterImage& image, size_t word_bytes,
                      std::initializer_list<std::pair<unsigned, int64_t>> words) {
    for (const auto& [index, value] : words) std::memcpy(image.bytes + index * word_bytes, &value, word_bytes);
  };
  for (const bool is_64 : {true, false}) {
    if (!is_64 && !test::kernel_runs_32_bits()) HEAPTAP_SKIP_32_BITS();
    const arch::Cpu& cpu = is_64 ? x86_64() : i386();
    const RealCpu real(is_64);
    RegisterImage registers = real.registers();
    cpu.set_program_counter(registers, RealCpu::kCode);
    if (is_64) {  // syscall; int3
      put(registers, 8, {{15, -1}, {10, 232}, {14, epoll}, {13, RealCpu::kData}, {12, 1}, {7, -1}});
      ASSERT_TRUE(real.start(std::array<uint8_t, 3>{0x0f, 0x05, 0xcc}, registers, PTRACE_CONT));
    } else {  // int $0x80; int3
      put(registers, 4, {{11, -1}, {6, 256}, {0, epoll}, {1, RealCpu::kData}, {2, 1}, {3, -1}});
      ASSERT_TRUE(real.start(std::array<uint8_t, 3>{0xcd, 0x80, 0xcc}, registers, PTRACE_CONT));
    }
    while (!is_in_system_call(real.child(), is_64 ? 232 : 256)) sched_yield();
    kill(real.child(), SIGSTOP);
    ASSERT_EQ(real.wait(registers), SIGSTOP);
    ASSERT_TRUE(cpu.restart_interrupted_call(registers));
    const uint64_t one = 1;
    ASSERT_TRUE(real.go_on(registers, PTRACE_CONT));
    ASSERT_EQ(write(event, &one, sizeof(one)), 8);
    ASSERT_EQ(real.wait(registers), SIGTRAP);
    EXPECT_EQ(cpu.result(registers), 1U) << "one event";
    uint64_t count = 0;
    ASSERT_EQ(read(event, &count, sizeof(count)), 8);
  }
  close(epoll);
  close(event);
}

}  // namespace
}  // namespace heaptap
