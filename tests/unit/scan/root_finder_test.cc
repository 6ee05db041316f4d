// Roots of real processes: a child puts the only pointer to a block in one place, and the test looks where it is found.
#include "capture/scan/root_finder.h"
#include "capture/process/process_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ranges>
#include <set>
#include <thread>
#include <vector>

#include "capture/elf/module_image.h"
#include "capture/scan/allocator_memory.h"
#include "child_process.h"
#include "common/arch/native.h"

namespace heaptap::scan {
namespace {

using test::ChildProcess;
using wire::RootKind;

// Addresses travel to the test upside down, so that no copy of them counts as a pointer.
struct Told {
  uint64_t hidden[4] = {};
  void tell(unsigned index, const void* pointer) { hidden[index] = ~reinterpret_cast<uint64_t>(pointer); }
  [[nodiscard]] uint64_t at(unsigned index) const { return ~hidden[index]; }
};

constexpr size_t kBlockBytes = 200;

// Memory for the blocks of all children, shared by them: its first word counts the blocks.
constexpr size_t kBlockDistance = 256;
constexpr size_t kMaxBlocks = 65536;
void* const block_memory = mmap(nullptr, (kMaxBlocks + 1) * kBlockDistance, PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

// A block at an address that no earlier child had. malloc gives each child the same: earlier tests, which compared these
// addresses, have left them in the frames that a child inherits, and there they are roots.
void* new_block() {
  const size_t number = static_cast<std::atomic<size_t>*>(block_memory)->fetch_add(1) % kMaxBlocks + 1;
  return static_cast<char*>(block_memory) + number * kBlockDistance;
}

void send(int out, const Told& told) { [[maybe_unused]] const ssize_t sent = write(out, &told, sizeof(told)); }

// Overwrites what calls left on the stack and in registers.
[[gnu::noinline]] void clear_stack() {
  volatile char bytes[8192];
  for (size_t i = 0; i < sizeof(bytes); ++i) bytes[i] = 0;
}

[[noreturn]] void wait_forever() {
  for (;;) pause();
}

// Memory in which the given blocks lie, as the query wants it.
std::vector<base::AddressRange> blocks_at(std::initializer_list<uint64_t> addresses) {
  std::vector<base::AddressRange> blocks;
  for (const uint64_t address : addresses) blocks.push_back({address, address + kBlockBytes});
  std::ranges::sort(blocks, {}, &base::AddressRange::begin);
  return blocks;
}

class Findings {
 public:
  Findings(pid_t process, const RootQuery& query)
      : stopped_(process::StoppedProcess::stop(process).value()),
        memory_(stopped_.live_thread()),
        roots_(find_roots(stopped_, memory_, query)) {}

  // The kinds of roots that hold the address.
  std::set<RootKind> holders_of(uint64_t address) {
    std::set<RootKind> kinds;
    for (const wire::RootWord& word : roots_.words) {
      if (word.value == address) kinds.insert(word.kind);
    }
    for (const wire::RootRange& range : roots_.ranges) {
      for (const base::AddressRange& part : memory_.touched_ranges(range.begin, range.end)) {
        const auto words = memory_.words({std::max(part.begin, range.begin), std::min(part.end, range.end)});
        if (std::ranges::find(words, address) != words.end()) kinds.insert(range.kind);
      }
    }
    return kinds;
  }

  [[nodiscard]] const Roots& roots() const { return roots_; }
  [[nodiscard]] const process::StoppedProcess& process() const { return stopped_; }
  [[nodiscard]] process::ProcessMemory& memory() { return memory_; }

 private:
  process::StoppedProcess stopped_;
  process::ProcessMemory memory_;
  Roots roots_;
};

using Kinds = std::set<RootKind>;

void* volatile global_holder;
thread_local void* volatile thread_local_holder;

[[gnu::noinline]] void hold_in_places(Told& told) {
  global_holder = new_block();
  told.tell(0, global_holder);
  thread_local_holder = new_block();
  told.tell(1, thread_local_holder);
  auto* mapping =
      static_cast<void* volatile*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  *mapping = new_block();
  told.tell(2, *mapping);
  told.tell(3, new_block());  // a leak
}

TEST(Roots, AreGlobalAndThreadLocalVariablesAndMappings) {
  const ChildProcess child([](int out) {
    Told told;
    hold_in_places(told);
    clear_stack();
    send(out, told);
    wait_forever();
  });
  Told told;
  ASSERT_TRUE(child.receive(told));
  test::wait_for_state(child.id(), "S");
  const auto heap = blocks_at({told.at(0), told.at(1), told.at(2), told.at(3)});
  RootQuery query{};
  query.heap = heap;
  Findings findings(child.id(), query);
  EXPECT_EQ(findings.holders_of(told.at(0)), Kinds{RootKind::kGlobal});
  EXPECT_EQ(findings.holders_of(told.at(1)), Kinds{RootKind::kThreadLocal});
  EXPECT_EQ(findings.holders_of(told.at(2)), Kinds{RootKind::kMapping});
  EXPECT_EQ(findings.holders_of(told.at(3)), Kinds{});
}

TEST(Roots, AreNotInWhatTheAgentHas) {
  const ChildProcess child([](int out) {
    Told told;
    hold_in_places(told);
    clear_stack();
    told.tell(3, static_cast<const void*>(const_cast<void**>(&global_holder)));
    send(out, told);
    wait_forever();
  });
  Told told;
  ASSERT_TRUE(child.receive(told));
  const auto heap = blocks_at({told.at(0)});
  const base::AddressRange own[] = {{told.at(3), told.at(3) + 8}};
  RootQuery query{};
  query.heap = heap;
  query.own = own;
  Findings findings(child.id(), query);
  EXPECT_EQ(findings.holders_of(told.at(0)), Kinds{});
}

[[gnu::noinline]] void hold_on_dead_stack(Told& told) {
  volatile char below[4096];
  below[0] = static_cast<char>(told.hidden[0]);
  below[1] = below[0];
  void* volatile holder[4];
  for (void* volatile& pointer : holder) pointer = new_block();
  told.tell(1, holder[2]);
}

[[gnu::noinline]] void hold_on_stack(int out) {
  Told told;
  hold_on_dead_stack(told);
  void* volatile holder = new_block();
  told.tell(0, holder);
  send(out, told);
  wait_forever();
}

TEST(Roots, OfTheStackAreInItsLivePart) {
  const ChildProcess child([](int out) { hold_on_stack(out); });
  Told told;
  ASSERT_TRUE(child.receive(told));
  test::wait_for_state(child.id(), "S");
  const auto heap = blocks_at({told.at(0), told.at(1)});
  RootQuery query{};
  query.heap = heap;
  Findings findings(child.id(), query);
  EXPECT_TRUE(findings.holders_of(told.at(0)).contains(RootKind::kStack));
  EXPECT_EQ(findings.holders_of(told.at(1)), Kinds{});
}

#if defined(__x86_64__)
// Both put their argument below the stack pointer and wait: the first in the same function, the second in another one.
extern "C" void hold_below_stack(uint64_t);
extern "C" void leave_below_stack(uint64_t);
asm(R"(
  .text
  .type hold_below_stack, @function
hold_below_stack:
  .cfi_startproc
  mov %rdi, -16(%rsp)
  xor %edi, %edi
1:
  mov $34, %eax
  syscall
  jmp 1b
  .cfi_endproc
  .type leave_below_stack, @function
leave_below_stack:
  .cfi_startproc
  mov %rdi, -16(%rsp)
  xor %edi, %edi
  jmp wait_below_stack
  .cfi_endproc
  .type wait_below_stack, @function
wait_below_stack:
  .cfi_startproc
  mov $34, %eax
  syscall
  jmp wait_below_stack
  .cfi_endproc
)");

TEST(Roots, BelowTheStackPointerAreThoseOfAFunctionThatKeepsValuesThere) {
  if (test::kChildIsSanitized) GTEST_SKIP() << "sanitized code leaves copies on the stack";
  const std::pair<void (*)(uint64_t), Kinds> cases[] = {{hold_below_stack, {RootKind::kStack}},
                                                        {leave_below_stack, {}}};
  for (const auto& [wait, kinds] : cases) {
    const ChildProcess child([wait = wait](int out) {
      Told told;
      told.tell(0, new_block());
      send(out, told);
      clear_stack();
      wait(told.at(0));
    });
    Told told;
    ASSERT_TRUE(child.receive(told));
    test::wait_for_state(child.id(), "S");
    const auto heap = blocks_at({told.at(0)});
    RootQuery query{};
    query.heap = heap;
    Findings findings(child.id(), query);
    EXPECT_EQ(findings.holders_of(told.at(0)), kinds);
  }
}
#endif

TEST(Roots, OfAnotherThreadAreOnItsStackAndInItsThreadLocalVariables) {
  const ChildProcess child([](int out) {
    std::thread([out] {
      Told told;
      void* volatile holder = new_block();
      told.tell(0, holder);
      thread_local_holder = new_block();
      told.tell(1, thread_local_holder);
      hold_on_dead_stack(told);
      told.tell(2, reinterpret_cast<void*>(told.at(1)));
      told.tell(1, thread_local_holder);
      send(out, told);
      wait_forever();
    }).detach();
    wait_forever();
  });
  Told told;
  ASSERT_TRUE(child.receive(told));
  const auto heap = blocks_at({told.at(0), told.at(1), told.at(2)});
  RootQuery query{};
  query.heap = heap;
  Findings findings(child.id(), query);
  EXPECT_TRUE(findings.holders_of(told.at(0)).contains(RootKind::kStack));
  EXPECT_TRUE(findings.holders_of(told.at(1)).contains(RootKind::kThreadLocal));
  EXPECT_EQ(findings.holders_of(told.at(2)), Kinds{});
  const auto& segments = findings.roots().thread_locals;
  EXPECT_TRUE(std::ranges::any_of(segments, [&](const ThreadSegment& segment) {
    const auto words = findings.memory().words({segment.begin & ~uint64_t{7}, segment.end});
    return segment.thread_id != static_cast<uint32_t>(child.id()) && segment.module_base != 0 &&
           std::ranges::find(words, told.at(1)) != words.end();
  }));
}

TEST(Roots, AreNotOnStacksOfThreadsThatEnded) {
  if (test::kChildIsSanitized) GTEST_SKIP() << "a sanitizer keeps what ended threads had";
  const ChildProcess child([](int out) {
    Told told;
    std::thread([&] {
      hold_on_dead_stack(told);
      thread_local_holder = new_block();
      told.tell(0, thread_local_holder);
    }).join();
    clear_stack();
    send(out, told);
    wait_forever();
  });
  Told told;
  ASSERT_TRUE(child.receive(told));
  test::wait_for_state(child.id(), "S");
  const auto heap = blocks_at({told.at(0), told.at(1)});
  RootQuery query{};
  query.heap = heap;
  Findings findings(child.id(), query);
  EXPECT_EQ(findings.holders_of(told.at(0)), Kinds{});
  EXPECT_EQ(findings.holders_of(told.at(1)), Kinds{});
}

void* give_a_block(void* told) {
  void* block = new_block();
  static_cast<Told*>(told)->tell(0, block);
  return block;
}

TEST(Roots, HoldTheResultOfAThreadThatWaitsForItsJoin) {
  const ChildProcess child([](int out) {
    Told told;
    pthread_t thread;
    pthread_create(&thread, nullptr, give_a_block, &told);
    while (process::list_threads(getpid()).size() > 1) usleep(100);
    send(out, told);
    wait_forever();
  });
  Told told;
  ASSERT_TRUE(child.receive(told));
  const auto heap = blocks_at({told.at(0)});
  RootQuery query{};
  query.heap = heap;
  Findings findings(child.id(), query);
  EXPECT_TRUE(findings.holders_of(told.at(0)).contains(RootKind::kThreadLocal));
}

TEST(Roots, AreNotInFreedMemoryOfAnyArena) {
  if (test::kChildIsSanitized) GTEST_SKIP() << "a sanitizer's allocator is in the place of glibc's";
  const ChildProcess child([](int out) {
    Told told;
    // Another arena, with a block that a freed one still points to.
    std::thread([&] {
      void* block = new_block();
      auto* freed = static_cast<void**>(malloc(5000));
      freed[100] = block;
      told.tell(0, block);
      free(static_cast<void*>(freed));
      block = nullptr;
    }).join();
    void* block = new_block();
    auto* freed = static_cast<void**>(malloc(5000));
    freed[100] = block;
    told.tell(1, block);
    free(static_cast<void*>(freed));
    void* large = malloc(1 << 20);
    told.tell(2, large);
    block = nullptr;
    large = nullptr;
    clear_stack();
    send(out, told);
    wait_forever();
  });
  Told told;
  ASSERT_TRUE(child.receive(told));
  test::wait_for_state(child.id(), "S");
  const auto heap = blocks_at({told.at(0), told.at(1), told.at(2)});
  RootQuery query{};
  query.heap = heap;
  Findings findings(child.id(), query);
  for (const unsigned i : {0u, 1u}) {
    Kinds kinds = findings.holders_of(told.at(i));
    kinds.erase(RootKind::kStack);  // what the compiler has left there is its business
    kinds.erase(RootKind::kRegister);
    EXPECT_EQ(kinds, Kinds{}) << i;
  }
}

TEST(Roots, AreNotInTheMainArena) {
  if (test::kChildIsSanitized) GTEST_SKIP() << "a sanitizer's allocator is in the place of glibc's";
  const ChildProcess child([](int out) {
    std::vector<void*> blocks;
    for (size_t i = 0; i < 2000; ++i) blocks.push_back(malloc(16 + i));
    for (size_t i = 0; i < 2000; i += 2) free(blocks[i]);
    const Told told;
    send(out, told);
    wait_forever();
  });
  Told told;
  ASSERT_TRUE(child.receive(told));
  Findings findings(child.id(), RootQuery{});
  std::vector<base::AddressRange> arenas;
  for (const elf::ModuleImage& module : elf::find_modules(findings.memory())) {
    for (const base::AddressRange& arena : find_main_arenas(findings.memory(), module)) {
      EXPECT_NE(module.path.find("libc"), std::string::npos);
      arenas.push_back(arena);
    }
  }
  ASSERT_EQ(arenas.size(), 1u);
  for (const wire::RootRange& range : findings.roots().ranges) {
    EXPECT_TRUE(range.end <= arenas[0].begin || range.begin >= arenas[0].end);
  }
}

[[gnu::noinline]] void wait_on_alternate_stack(int) {
  void* volatile holder = new_block();
  Told told;
  told.tell(0, holder);
  memcpy(global_holder, &told, sizeof(told));
  wait_forever();
}

TEST(Roots, OfAnAlternateStackAndOfTheStackThatWasInterrupted) {
  struct Shared {
    Told in_handler;
    Told before;
  };
  auto* shared = static_cast<Shared*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const ChildProcess child([&](int out) {
    static char stack[65536];
    global_holder = &shared->in_handler;
    stack_t alternate{};
    alternate.ss_sp = stack;
    alternate.ss_size = sizeof(stack);
    sigaltstack(&alternate, nullptr);
    struct sigaction action{};
    action.sa_handler = wait_on_alternate_stack;
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR1, &action, nullptr);
    shared->before.tell(1, stack);
    hold_on_dead_stack(shared->in_handler);
    shared->before.tell(2, reinterpret_cast<void*>(shared->in_handler.at(1)));
    void* volatile holder = new_block();
    shared->before.tell(0, holder);
    send(out, shared->before);
    raise(SIGUSR1);
  });
  Told told;
  ASSERT_TRUE(child.receive(told));
  ASSERT_TRUE(test::wait_for("the handler runs", [&] { return shared->in_handler.hidden[0] != 0; }, child.id()));
  test::wait_for_state(child.id(), "S");
  const auto heap = blocks_at({told.at(0), told.at(2), shared->in_handler.at(0)});
  const auto id = static_cast<uint32_t>(child.id());
  const wire::StackArea areas[] = {{told.at(1), told.at(1) + 65536, 0, id, RootKind::kAlternateStack}};
  RootQuery query{};
  query.heap = heap;
  query.stacks = areas;
  Findings findings(child.id(), query);
  EXPECT_TRUE(findings.holders_of(shared->in_handler.at(0)).contains(RootKind::kAlternateStack));
  EXPECT_TRUE(findings.holders_of(told.at(0)).contains(RootKind::kStack));
  EXPECT_EQ(findings.holders_of(told.at(2)), Kinds{});
  munmap(shared, 4096);
}

void wait_in_context() { wait_forever(); }

ucontext_t main_context;
ucontext_t other_context;

void hold_and_switch_back() {
  void* volatile holder[64];  // so much that the context doesn't look like one that hasn't begun
  for (void* volatile& pointer : holder) pointer = nullptr;
  holder[50] = new_block();
  static_cast<Told*>(global_holder)->tell(0, holder[50]);
  swapcontext(&other_context, &main_context);
  wait_in_context();
}

TEST(Roots, OfAContextThatWaitsAreAboveItsStackPointer) {
  const ChildProcess child([](int out) {
    constexpr size_t kBytes = 65536;
    Told told;
    global_holder = &told;
    void* stack = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    auto* dead = static_cast<void* volatile*>(stack);
    dead[10] = new_block();
    told.tell(1, dead[10]);
    told.tell(2, stack);
    told.tell(3, &other_context);
    getcontext(&other_context);
    other_context.uc_stack.ss_sp = stack;
    other_context.uc_stack.ss_size = kBytes;
    makecontext(&other_context, hold_and_switch_back, 0);
    swapcontext(&main_context, &other_context);
    clear_stack();
    send(out, told);
    wait_forever();
  });
  Told told;
  ASSERT_TRUE(child.receive(told));
  test::wait_for_state(child.id(), "S");
  const auto heap = blocks_at({told.at(0), told.at(1)});
  const base::AddressRange mapped[] = {{told.at(2), told.at(2) + 65536}};
  const wire::StackArea areas[] = {{told.at(2), told.at(2) + 65536, told.at(3), 0, RootKind::kContextStack}};
  RootQuery query{};
  query.heap = heap;
  query.mapped = mapped;
  query.stacks = areas;
  Findings findings(child.id(), query);
  EXPECT_TRUE(findings.holders_of(told.at(0)).contains(RootKind::kContextStack));
  EXPECT_FALSE(findings.holders_of(told.at(1)).contains(RootKind::kContextStack));
  EXPECT_FALSE(findings.holders_of(told.at(1)).contains(RootKind::kMapping));
}

[[gnu::noinline]] void wait_in_known_function(int out) {
  Told told;
  told.tell(0, reinterpret_cast<void*>(&wait_in_known_function));
  send(out, told);
  wait_forever();
}

TEST(Roots, HaveTheFramesOfEachStack) {
  if (test::kChildIsSanitized) GTEST_SKIP() << "sanitized functions are longer";
  const ChildProcess child([](int out) {
    wait_in_known_function(out);
    asm volatile("");
  });
  Told told;
  ASSERT_TRUE(child.receive(told));
  test::wait_for_state(child.id(), "S");
  Findings findings(child.id(), RootQuery{});
  const auto& frames = findings.roots().frames;
  EXPECT_GT(frames.size(), 5u);
  EXPECT_TRUE(std::ranges::any_of(frames, [&](const wire::StackFrame& frame) {
    return frame.code - told.at(0) < 200 && frame.thread_id == static_cast<uint32_t>(child.id());
  }));
  EXPECT_TRUE(std::ranges::is_sorted(frames, {}, &wire::StackFrame::cfa));
  EXPECT_FALSE(findings.roots().read_only_data.empty());
}

TEST(Roots, OfTheThreadThatEndsTheProcessBeginWhereItsStackLives) {
  // Enough of the stack lies above, wherever it begins: without it the environment decides whether there are 4,096 bytes.
  const ChildProcess child([](int out) {
    volatile char above[8192];
    above[0] = 0;
    hold_on_stack(out);
    above[1] = above[0];
  });
  Told told;
  ASSERT_TRUE(child.receive(told));
  test::wait_until_blocked(child.id(), SYS_pause);  // the stack pointer is read twice
  const auto heap = blocks_at({told.at(0)});
  const auto id = static_cast<uint32_t>(child.id());
  const uint64_t sp = process::StoppedProcess::stop(child.id())->threads().front().stack_pointer;
  RootQuery query{};
  query.heap = heap;
  query.ending = ExitingThread{id, sp + 4096};
  Findings findings(child.id(), query);
  EXPECT_EQ(findings.holders_of(told.at(0)), Kinds{});
  for (const wire::RootRange& range : findings.roots().ranges) {
    if (range.kind == RootKind::kStack) {
      EXPECT_EQ(range.begin, sp + 4096);
    }
  }
}

TEST(Roots, OfAThreadThatASignalEndsBeginAtItsStackPointer) {
  const ChildProcess child(hold_on_stack);
  Told told;
  ASSERT_TRUE(child.receive(told));
  test::wait_until_blocked(child.id(), SYS_pause);
  const auto heap = blocks_at({told.at(0)});
  const auto id = static_cast<uint32_t>(child.id());
  RootQuery query{};
  query.heap = heap;
  query.ending = ExitingThread{.thread_id = id, .live_sp = 0, .registers_are_programs = true, .crash_signal = SIGABRT};
  uint64_t sp = 0;
  {
    const auto stopped = process::StoppedProcess::stop(child.id());
    sp = stopped->threads().front().stack_pointer;
  }
  Findings findings(child.id(), query);
  bool has_stack = false;
  for (const wire::RootRange& range : findings.roots().ranges) {
    if (range.kind != RootKind::kStack) continue;
    has_stack = true;
    EXPECT_GT(range.begin, sp - 256);  // a red zone at the most
  }
  EXPECT_TRUE(has_stack);
}

[[nodiscard]] bool has_code_of(const model::Crash& crash, size_t first, uint64_t function) {
  return std::ranges::any_of(crash.codes | std::views::drop(first),
                             [function](uint64_t code) { return wire::code_address(code) - function < 200; });
}

TEST(Crash, OfAThreadBeginsAtItsRegisters) {
  if (test::kChildIsSanitized) GTEST_SKIP() << "sanitized functions are longer";
  const ChildProcess child([](int out) {
    wait_in_known_function(out);
    asm volatile("");
  });
  Told told;
  ASSERT_TRUE(child.receive(told));
  test::wait_until_blocked(child.id(), SYS_pause);
  const auto id = static_cast<uint32_t>(child.id());
  RootQuery query{};
  EXPECT_FALSE(Findings(child.id(), query).roots().crash);
  query.ending = ExitingThread{.thread_id = id, .live_sp = 0, .registers_are_programs = true, .crash_signal = SIGABRT};
  const Findings findings(child.id(), query);
  const auto& crash = findings.roots().crash;
  ASSERT_TRUE(crash);
  EXPECT_EQ(crash->signal, SIGABRT);
  EXPECT_EQ(crash->thread_id, id);
  EXPECT_EQ(crash->end, wire::StackEnd::kComplete);
  EXPECT_NE(crash->codes.front() & wire::kCodeExact, 0u);
  EXPECT_TRUE(has_code_of(*crash, 1, told.at(0)));
}

Told* told_by_handler = nullptr;

void wait_in_handler(int /*number*/, siginfo_t* /*info*/, void* context) {
  told_by_handler->tell(1, context);
  wait_forever();
}

[[gnu::noinline]] void raise_in_known_function(int out) {
  Told told;
  told.tell(0, reinterpret_cast<void*>(&raise_in_known_function));
  send(out, told);
  raise(SIGUSR1);
  asm volatile("");
}

// As in the agent's handler.
TEST(Crash, OfAHandlerBeginsWhereItInterruptedTheProgram) {
  if (test::kChildIsSanitized) GTEST_SKIP() << "sanitized functions are longer";
  told_by_handler =
      static_cast<Told*>(mmap(nullptr, sizeof(Told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const ChildProcess child([](int out) {
    static char stack[65536];
    stack_t alternate{};
    alternate.ss_sp = stack;
    alternate.ss_size = sizeof(stack);
    sigaltstack(&alternate, nullptr);
    struct sigaction action{};
    action.sa_sigaction = wait_in_handler;
    action.sa_flags = SA_ONSTACK | SA_SIGINFO;
    sigaction(SIGUSR1, &action, nullptr);
    raise_in_known_function(out);
  });
  Told told;
  ASSERT_TRUE(child.receive(told));
  test::wait_until_blocked(child.id(), SYS_pause);
  const uint64_t context = told_by_handler->at(1);
  RootQuery query{};
  query.ending =
      ExitingThread{.thread_id = static_cast<uint32_t>(child.id()), .live_sp = context, .crash_signal = SIGSEGV};
  const auto crash = Findings(child.id(), query).roots().crash;
  ASSERT_TRUE(crash);
  EXPECT_EQ(crash->end, wire::StackEnd::kComplete);
  EXPECT_TRUE(has_code_of(*crash, 1, told.at(0)));
  // From the child's own registers, by way of the signal's frame to the other stack.
  query.ending->registers_are_programs = true;
  const auto whole = Findings(child.id(), query).roots().crash;
  ASSERT_TRUE(whole);
  EXPECT_TRUE(has_code_of(*whole, 1, told.at(0)));
  EXPECT_TRUE(has_code_of(*whole, 1, reinterpret_cast<uint64_t>(&wait_in_handler)));
  EXPECT_GT(whole->codes.size(), crash->codes.size());
  // An address that the program made up leads nowhere.
  query.ending->registers_are_programs = false;
  query.ending->live_sp = 8;
  EXPECT_FALSE(Findings(child.id(), query).roots().crash);
}

// One that waits for its vforked child is in the kernel until that executes or ends.
TEST(Roots, OfAThreadThatCouldNotBeStoppedAreNoted) {
  int hold[2];
  ASSERT_EQ(pipe(hold), 0);
  ChildProcess child([&](int out) {
    close(hold[1]);
    if (vfork() == 0) {  // NOLINT(bugprone-unsafe-functions): a parent that waits like this is what is tested
      [[maybe_unused]] const ssize_t sent = write(out, "x", 1);
      char byte;
      [[maybe_unused]] const ssize_t got = read(hold[0], &byte, 1);
      _exit(0);
    }
    wait_forever();
  });
  char ready = 0;
  ASSERT_TRUE(child.receive(ready));
  {
    const Findings found(child.id(), {});
    const model::Note expected{.kind = model::NoteKind::kThreadInKernel,
                               .numbers = {static_cast<uint64_t>(child.id())}};
    EXPECT_EQ(found.roots().notes, std::vector{expected});
  }
  close(hold[0]);
  close(hold[1]);
}

}  // namespace
}  // namespace heaptap::scan
