// A borrowed thread whose borrower ends in the middle, as if it had been killed: it goes on as it was, wherever that happens.
#include "capture/inject/remote_thread.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "capture/process/memory_map.h"
#include "child_process.h"
#include "common/base/wait_status.h"
#include "waiting.h"

#ifdef __x86_64__

namespace heaptap::inject {
namespace {

// In memory that both have.
struct Said {
  std::atomic<long> thread;
  std::atomic<long> rounds;
  std::atomic<long> wrong;
};

// Whether registers of each kind keep their values for some microseconds: general ones, halves and wholes of vectors, flags.
bool registers_keep_their_values(uint64_t value) {
  uint64_t count = 20'000;
  uint64_t general = value;
  uint64_t low = 0;
  uint64_t high = 0;
  uint64_t other = value + 1;
  asm volatile(
      "mov %[value], %%r9\n\tmov %[value], %%r12\n\tmovq %[value], %%xmm3\n\tmovq %[value], %%xmm15\n\tpslldq $8, "
      "%%xmm15\n\tstc\n"
      "1:\tlea -1(%[count]), %[count]\n\tjrcxz 2f\n\tjmp 1b\n"
      "2:\tsbb %%rax, %%rax\n\tadd %%rax, %%r12\n\tmov %%r9, %[general]\n\tmov %%r12, %[other]\n\tmovq %%xmm3, "
      "%[low]\n\t"
      "psrldq $8, %%xmm15\n\tmovq %%xmm15, %[high]"
      : [count] "+c"(count), [general] "=r"(general), [other] "=&r"(other), [low] "=&r"(low), [high] "=&r"(high)
      : [value] "r"(value)
      : "rax", "r9", "r12", "xmm3", "xmm15", "cc");
  return general == value && other + 1 == value && low == value && high == value;
}

// The same for the upper halves of vectors that not each CPU has.
[[gnu::target("avx")]] bool wide_vectors_keep_their_values(uint64_t value) {
  uint64_t count = 20'000;
  uint64_t high = 0;
  asm volatile(
      "vmovq %[value], %%xmm5\n\tvinsertf128 $1, %%xmm5, %%ymm5, %%ymm5\n\tvpxor %%xmm6, %%xmm6, %%xmm6\n\tvinsertf128 "
      "$0, %%xmm6, %%ymm5, %%ymm5\n"
      "1:\tdec %[count]\n\tjnz 1b\n\tvextractf128 $1, %%ymm5, %%xmm5\n\tvmovq %%xmm5, %[high]"
      : [count] "+r"(count), [high] "=r"(high)
      : [value] "r"(value)
      : "xmm5", "xmm6", "cc");
  return high == value;
}

void* compute(void* argument) {
  Said& said = *static_cast<Said*>(argument);
  said.thread = gettid();
  const bool has_wide_vectors = __builtin_cpu_supports("avx") != 0;
  sigset_t before;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  for (uint64_t value = 0x123456789abcdef; said.rounds < 1'000'000; value = value * 6364136223846793005 + 1) {
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, nullptr, &now);
    bool is_right = registers_keep_their_values(value) && (!has_wide_vectors || wide_vectors_keep_their_values(value));
    for (int number = 1; number < 64; ++number)
      is_right = is_right && sigismember(&now, number) == sigismember(&before, number);
    if (!is_right) ++said.wrong;
    ++said.rounds;
  }
  return nullptr;
}

bool has_ended(pid_t process) {
  siginfo_t ended{};
  return waitid(P_PID, static_cast<id_t>(process), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid != 0;
}

class RemoteThreadTest : public testing::Test {
 protected:
  void TearDown() override { munmap(said_, sizeof(Said)); }

  // A child whose first thread, or another one, computes.
  [[nodiscard]] std::unique_ptr<test::ChildProcess> computing(bool is_first) const {
    said_->rounds = 0;  // of the child before, which has ended
    auto child = std::make_unique<test::ChildProcess>([this, is_first](int) {
      pthread_t thread;
      if (is_first) compute(said_);
      pthread_create(&thread, nullptr, compute, said_);
      pthread_join(thread, nullptr);
    });
    EXPECT_TRUE(test::wait_for("its first rounds", [this] { return said_->rounds > 10; }));
    return child;
  }

  // A process of its own borrows the thread, and ends without giving it back. Its status.
  int borrow_and_end(pid_t process, const std::function<void(RemoteThread&)>& work) const {
    const auto thread = static_cast<pid_t>(said_->thread);
    const pid_t borrower = fork();
    if (borrower == 0) {
      const process::TracedMemory memory(process);
      const ReturnCode code = find_return_code(process::read_memory_map(process), memory);
      const MemoryFile file(process);
      if (!code.is_there() || ptrace(PTRACE_SEIZE, thread, nullptr, PTRACE_O_TRACESYSGOOD) != 0) _exit(2);
      auto remote = RemoteThread::stop(thread, code, file);
      if (!remote) _exit(3);
      work(*remote);
      _exit(0);
    }
    int status = -1;
    waitpid(borrower, &status, 0);
    return status;
  }

  // It does, and computes no wrong results.
  void expect_goes_on(const test::ChildProcess& child) const {
    const long before = said_->rounds;
    EXPECT_TRUE(test::wait_for(
        "more rounds", [&] { return said_->rounds > before + 20 || has_ended(child.id()); }, child.id()));
    EXPECT_GT(said_->rounds, before + 20) << "it has ended, or waits";
    EXPECT_EQ(said_->wrong, 0);
  }

  Said* const said_ =
      new (mmap(nullptr, sizeof(Said), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Said{};
};

constexpr std::array<uint64_t, 6> kNone{};

TEST_F(RemoteThreadTest, GoesOnWhenItsBorrowerEndsBetweenCalls) {
  for (const bool is_first : {true, false}) {
    const auto child = computing(is_first);
    for (int calls = 0; calls < 100; ++calls) {
      const auto work = [&](RemoteThread& thread) {
        for (int i = 0; i < calls % 4; ++i) {
          if (thread.call(SYS_getpid, kNone) != child->id()) _exit(4);
        }
      };
      ASSERT_EQ(borrow_and_end(child->id(), work), 0) << calls;
      expect_goes_on(*child);
    }
  }
}

TEST_F(RemoteThreadTest, GoesOnWhenItsBorrowerIsKilledWhileACallWaits) {
  const auto child = computing(true);
  for (int i = 0; i < 20; ++i) {
    const auto work = [](RemoteThread& thread) {
      if (fork() == 0) {  // the borrower doesn't live to see the call's end
        usleep(5000);
        kill(getppid(), SIGKILL);
        _exit(0);
      }
      thread.call(SYS_poll, {0, 0, 30, 0, 0, 0});
      _exit(5);
    };
    const int status = borrow_and_end(child->id(), work);
    ASSERT_TRUE(WIFSIGNALED(status)) << status;
    expect_goes_on(*child);
  }
}

TEST_F(RemoteThreadTest, IsAsBeforeWhenItIsGivenBack) {
  const auto child = computing(true);
  for (int i = 0; i < 50; ++i) {
    const auto work = [&](RemoteThread& thread) {
      RemoteThread own = std::move(thread);
      if (own.call(SYS_getpid, kNone) != child->id()) _exit(4);
    };
    ASSERT_EQ(borrow_and_end(child->id(), work), 0);
    expect_goes_on(*child);
  }
}

// What the thread runs on another stack, as heaptap_injected_enter: it counts, and waits to be stopped, or doesn't; or it fails.
extern "C" const char count_and_wait[];
extern "C" const char count_and_return[];
extern "C" const char count_and_return_end[];
extern "C" const char fail[];
extern "C" const char fail_end[];
extern "C" std::atomic<uint64_t> counted_by_thread;
asm(R"(
  .text
  .globl count_and_wait, count_and_return, count_and_return_end, fail, fail_end
count_and_wait:
  mov $400000000, %ecx
  jmp 1f
count_and_return:
  mov $1, %ecx
1:
  mov %rbx, %rsp
  lock incq counted_by_thread(%rip)
2:
  pause
  dec %ecx
  jnz 2b
  mov $15, %eax
  syscall
count_and_return_end:
fail:
  ud2
fail_end:
  .data
  .globl counted_by_thread
  .balign 8
counted_by_thread:
  .quad 0
  .text
)");

uint64_t address_of(const void* place) { return reinterpret_cast<uintptr_t>(place); }

TEST_F(RemoteThreadTest, RunsAFunction) {
  const auto child = computing(true);
  static std::array<char, 64 << 10> stack;
  const uint64_t top = address_of(stack.data() + stack.size());
  const MemoryFile memory(child->id());
  const auto count = [&] {
    uint64_t value = 0;
    return memory.read(address_of(&counted_by_thread), &value, sizeof(value)) ? value : 0;
  };
  for (int i = 0; i < 30; ++i) {
    const uint64_t before = count();
    const auto read_result = [&] {
      const uint64_t now = count();
      return now > before ? std::optional(now) : std::nullopt;
    };
    const auto run = borrow_and_end(child->id(), [&](RemoteThread& thread) {
      RemoteThread own = std::move(thread);
      const auto result = own.run({address_of(count_and_wait), address_of(count_and_return_end)}, top, read_result);
      if (result.value_or(0) != before + 1) _exit(4);
      if (own.call(SYS_getpid, kNone) != child->id()) _exit(5);
    });
    ASSERT_EQ(run, 0);
    ASSERT_EQ(count(), before + 1);
    expect_goes_on(*child);
  }
  const uint64_t before = count();
  const auto none = [] { return std::optional<uint64_t>(); };
  const auto failed = borrow_and_end(child->id(), [&](RemoteThread& thread) {
    RemoteThread own = std::move(thread);
    if (own.run({address_of(fail), address_of(fail_end)}, top, none)) _exit(4);
  });
  ASSERT_EQ(failed, 0);
  expect_goes_on(*child);
  // It has gone on before it could be stopped.
  for (int i = 1; i <= 10; ++i) {
    const auto gone = borrow_and_end(child->id(), [&](RemoteThread& thread) {
      RemoteThread own = std::move(thread);
      const auto late = [&] {
        const uint64_t now = count();
        if (now < before + static_cast<uint64_t>(i)) return std::optional<uint64_t>();
        usleep(10'000);
        return std::optional(now);
      };
      if (!own.run({address_of(count_and_return), address_of(count_and_return_end)}, top, late)) _exit(4);
      if (own.call(SYS_getpid, kNone)) _exit(5);
    });
    ASSERT_EQ(gone, 0);
    expect_goes_on(*child);
  }
  EXPECT_EQ(count(), before + 10);
}

// A stack of a coroutine, of which only its owner knows how much room it has.
TEST_F(RemoteThreadTest, IsntBorrowedOnAStackThatItSharesWithOthers) {
  test::ChildProcess child([this](int) {
    static char stack[256 << 10];
    stack_t other{.ss_sp = stack, .ss_flags = 0, .ss_size = sizeof(stack)};
    sigaltstack(&other, nullptr);
    struct sigaction action{};
    static Said* shared;
    shared = said_;
    action.sa_handler = [](int) { compute(shared); };
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR1, &action, nullptr);
    raise(SIGUSR1);
  });
  ASSERT_TRUE(test::wait_for("its first rounds", [this] { return said_->rounds > 10; }));
  const int status = borrow_and_end(child.id(), [](RemoteThread&) {});
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 3) << status;
  expect_goes_on(child);
}

}  // namespace
}  // namespace heaptap::inject

#endif
