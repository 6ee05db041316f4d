// The agent in a real process, which does all at once: allocating threads whose blocks are checked, threads that come and go, forked
// children, others that share its memory and end at once, a profiling timer, a wait with a time limit, actions of signals that change.
#include "capture/inject/injection.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "capture/log/log_memory.h"
#include "capture/log/log_reader.h"
#include "capture/process/memory_map.h"
#include "common/base/process_file.h"
#include "common/base/small_file.h"
#include "common/base/status_file.h"
#include "common/base/wait_status.h"
#include "common/wire/raw_event.h"

#if defined(HEAPTAP_INJECTED_AGENT) && defined(__x86_64__)

namespace heaptap::inject {
namespace {

using Clock = std::chrono::steady_clock;

// What the program says of itself, in memory that both have.
struct Said {
  std::atomic<long> pairs;
  std::atomic<long> wrong_blocks;
  std::atomic<long> wrong_children;
  std::atomic<int> child_status;  // of the last one of those
  std::atomic<long> wrong_waits;
  std::atomic<long> wrong_actions;
  std::atomic<long> children;
  std::atomic<long> spawns;
  std::atomic<long> threads;
  std::atomic<long> ticks;
  std::atomic<bool> is_ready;
};
Said* said;

[[gnu::noinline]] void* volatile_block(void* block) {
  asm volatile("" : "+r"(block) : : "memory");
  return block;
}

void check(const unsigned char* block, size_t bytes, unsigned char filled_with) {
  for (size_t i = 0; i < bytes; i += 13) said->wrong_blocks += block[i] != filled_with;
}

void churn(unsigned seed, long rounds) {
  constexpr size_t kBlocks = 32;
  unsigned char* blocks[kBlocks] = {};
  size_t sizes[kBlocks] = {};
  for (long i = 0; i != rounds; ++i) {
    seed = seed * 1664525 + 1013904223;
    const size_t at = seed >> 27;
    const size_t bytes = (seed >> 8) % 3000 + 1;
    const auto value = static_cast<unsigned char>(at + 1);
    if (blocks[at] != nullptr) check(blocks[at], sizes[at], value);
    if (blocks[at] != nullptr && (seed & 64) != 0) {
      std::free(volatile_block(blocks[at]));
      blocks[at] = nullptr;
      said->pairs.fetch_add(1, std::memory_order_relaxed);
      continue;
    }
    void* block = nullptr;
    if (blocks[at] != nullptr) {
      block = std::realloc(blocks[at], bytes);
    } else if ((seed & 1) != 0) {
      block = std::malloc(bytes);
    } else if ((seed & 2) != 0) {
      block = std::calloc(1, bytes);
      check(static_cast<unsigned char*>(block), bytes, 0);
    } else if ((seed & 4) != 0) {
      if (posix_memalign(&block, 64, bytes) != 0) std::abort();
    } else {
      block = std::aligned_alloc(128, (bytes + 127) / 128 * 128);
    }
    blocks[at] = static_cast<unsigned char*>(volatile_block(block));
    sizes[at] = bytes;
    std::memset(blocks[at], value, bytes);
  }
  for (unsigned char* block : blocks) std::free(block);
}

void* churn_on(void* seed) {
  churn(static_cast<unsigned>(reinterpret_cast<uintptr_t>(seed)), -1);
  return nullptr;
}

void* make_threads(void*) {
  const auto work = [](void* seed) -> void* {
    churn(static_cast<unsigned>(reinterpret_cast<uintptr_t>(seed)), 100);
    return nullptr;
  };
  for (uintptr_t i = 0;; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, nullptr, work, reinterpret_cast<void*>(i)) == 0) pthread_join(thread, nullptr);
    ++said->threads;
  }
}

void* make_children(void*) {
  while (true) {
    const pid_t child = fork();
    if (child == 0) {
      churn(7, 300);
      _exit(42);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (status != 42 << 8) said->child_status = status;
    said->wrong_children += status != 42 << 8;
    ++said->children;
    usleep(1000);
  }
}

// Children that end by _exit while their parent waits for them in the kernel.
void* spawn_in_vain(void*) {
  std::string nothing = "/nonexistent";
  char* const arguments[] = {nothing.data(), nullptr};
  while (true) {
    pid_t child = 0;
    const int error = posix_spawn(&child, nothing.c_str(), nullptr, nullptr, arguments, environ);
    said->wrong_children += error != ENOENT;
    ++said->spawns;
  }
}

void* wait_with_limit(void*) {
  sigset_t timer;
  sigemptyset(&timer);
  sigaddset(&timer, SIGPROF);
  pthread_sigmask(SIG_BLOCK, &timer, nullptr);
  while (true) said->wrong_waits += poll(nullptr, 0, 20) != 0;
}

// An action is what the program has set last. One that it ends with is the default.
void* change_actions(void*) {
  struct sigaction own{};
  own.sa_handler = [](int) {};
  struct sigaction none{};
  none.sa_handler = SIG_DFL;
  for (struct sigaction old{};;) {
    sigaction(SIGUSR2, &own, &old);
    said->wrong_actions += old.sa_handler != SIG_DFL;
    sigaction(SIGUSR2, &none, &old);
    said->wrong_actions += old.sa_handler != own.sa_handler;
    usleep(10);
  }
}

void start(void* (*work)(void*), uintptr_t argument = 0) {
  pthread_t thread;
  if (pthread_create(&thread, nullptr, work, reinterpret_cast<void*>(argument)) != 0) std::abort();
}

[[noreturn]] void be_busy() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  struct sigaction action{};
  action.sa_handler = [](int) { ++said->ticks; };
  action.sa_flags = SA_RESTART;
  sigaction(SIGPROF, &action, nullptr);
  start(wait_with_limit);
  start(churn_on, 1);
  start(churn_on, 2);
  start(make_threads);
  start(make_children);
  start(spawn_in_vain);
  start(change_actions);
  const itimerval often{{0, 5000}, {0, 5000}};
  setitimer(ITIMER_PROF, &often, nullptr);
  said->is_ready = true;
  while (true) pause();
}

// A signal as soon as the last one has come.
[[noreturn]] void send_signals(pid_t program) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (long sent = 0;;) {
    if (sent != said->ticks && usleep(20) == 0) continue;
    kill(program, SIGUSR1);
    ++sent;
  }
}

// One thread, which gets such signals.
[[noreturn]] void be_signalled() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  struct sigaction action{};
  action.sa_handler = [](int) { ++said->ticks; };
  action.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &action, nullptr);
  churn(1, 10'000);
  const pid_t program = getpid();
  if (fork() == 0) send_signals(program);
  said->is_ready = true;
  while (true) pause();
}

class InjectionTest : public testing::Test {
 protected:
  void SetUp() override { start_program(be_busy); }

  void start_program(void (*be)()) {
    auto image = AgentImage::read(HEAPTAP_INJECTED_AGENT);
    ASSERT_TRUE(image) << image.error().message;
    image_ = std::make_unique<AgentImage>(*std::move(image));
    said = static_cast<Said*>(mmap(nullptr, sizeof(Said), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    program_ = fork();
    if (program_ == 0) be();
    wait_for([] { return said->is_ready.load() && said->pairs > 1000; });
  }

  void TearDown() override {
    if (program_ > 0) {
      kill(program_, SIGKILL);
      (void)base::wait_for(program_);
    }
  }

  template <typename Condition>
  void wait_for(const Condition& condition) {
    const auto until = Clock::now() + std::chrono::seconds(60);
    while (!condition()) {
      ASSERT_LT(Clock::now(), until);
      ASSERT_FALSE(base::wait_for(program_, WNOHANG)) << "the program has ended";
      usleep(1000);
    }
  }

  static std::unique_ptr<log::LogMemory> make_log() {
    log::LogOptions options;
    options.overflow_policy = wire::OverflowPolicy::kDrop;
    options.flags = wire::kNoCpp | wire::kScanAtEnd;
    auto made = log::LogMemory::create(options);
    return made ? *std::move(made) : nullptr;
  }

  void expect_well() const {
    EXPECT_EQ(said->wrong_blocks, 0);
    EXPECT_EQ(said->wrong_children, 0) << std::hex << said->child_status;
    EXPECT_EQ(said->wrong_waits, 0);
    EXPECT_EQ(said->wrong_actions, 0);
    EXPECT_FALSE(base::wait_for(program_, WNOHANG)) << "the program has ended";
  }

  // Code of files, and what the agent would leave.
  std::map<std::string, std::vector<uint8_t>> code() const {
    std::map<std::string, std::vector<uint8_t>> found;
    const MemoryFile memory(program_);
    for (const process::Mapping& mapping : process::read_memory_map(program_)) {
      const bool is_log = mapping.name.find(log::kLogName) != std::string::npos;
      if (!is_log && (!mapping.executable || mapping.is_kernels("[vsyscall]"))) continue;
      std::vector<uint8_t>& bytes = found[std::to_string(mapping.range.begin) + mapping.name];
      if (is_log) continue;
      bytes.resize(mapping.range.size());
      EXPECT_TRUE(memory.read(mapping.range.begin, bytes.data(), bytes.size())) << mapping.name;
    }
    return found;
  }

  // Signals that have a handler, but that one whose action changes.
  uint64_t handled() const {
    const std::string status = base::read_small_file(base::process_file(program_, "status"), 8192);
    const uint64_t changes = uint64_t{1} << (SIGUSR2 - 1);
    return base::status_number(status, "SigCgt", 16).value_or(0) & ~changes;
  }

  pid_t program_ = -1;
  std::unique_ptr<AgentImage> image_;
};

// Each block is allocated before it is released, and released before its address is used again.
struct Blocks {
  std::set<uint64_t> live;
  long allocations = 0;
  long releases = 0;
  long wrong = 0;

  void take(const wire::RawEvent& event) {
    if (event.kind() == wire::RecordKind::kAllocate) {
      ++allocations;
      wrong += !live.insert(event.address()).second;
    } else if (event.kind() == wire::RecordKind::kRelease) {
      ++releases;
      live.erase(event.address());  // (or it is from before the attach)
    }
  }
};

TEST_F(InjectionTest, RecordsAndLeavesTheProgramAsItWas) {
  const auto before = code();
  const uint64_t handled_before = handled();
  const char* const is_long = std::getenv("HEAPTAP_LONG");
  const int rounds = is_long != nullptr ? 200 : 5;
  long allocations = 0;
  QuiesceFigures most;
  const auto note = [&most](const QuiesceFigures& figures) {
    most.longest_hold_ns = std::max(most.longest_hold_ns, figures.longest_hold_ns);
    most.held = std::max(most.held, figures.held);
    most.interrupted = std::max(most.interrupted, figures.interrupted);
  };
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE(round);
    const auto log = make_log();
    ASSERT_NE(log, nullptr);
    log::LogReader reader(log->parts());
    const auto injection = Injection::plan(program_, *image_);
    ASSERT_TRUE(injection) << injection.error().message;
    const auto put = (*injection)->put_in({log->descriptor(), log->bytes(), &log->parts()});
    ASSERT_TRUE(put) << put.error().message;
    const auto patched = (*injection)->patch();
    ASSERT_TRUE(patched) << patched.error().message;
    note((*injection)->figures());
    wait_for([&] { return (*injection)->settle(); });
    EXPECT_NE(handled(), handled_before);
    Blocks blocks;
    log::RawEvents events;
    const auto read = [&](bool last) {
      events.clear();
      const uint64_t bytes = reader.drain(events, last);
      for (const wire::RawEvent& event : events) blocks.take(event);
      return bytes;
    };
    wait_for([&] {
      read(false);
      return blocks.allocations > 1000;
    });
    const auto unpatched = (*injection)->unpatch();
    ASSERT_TRUE(unpatched) << unpatched.error().message;
    note((*injection)->figures());
    base::Result<> out = (*injection)->take_out();
    for (int i = 0; i < 20 && !out; ++i) out = (*injection)->take_out();
    ASSERT_TRUE(out) << out.error().message;
    while (read(true) > 0 || !reader.is_empty()) {
    }
    allocations += blocks.allocations;
    EXPECT_GT(blocks.releases, 0);
    // (Whoever reads the log puts in order what two processors' clocks disagree on.)
    if (reader.lost_events() == 0) {
      EXPECT_LE(blocks.wrong, blocks.allocations / 1000);
    }
    EXPECT_EQ(code(), before);
    EXPECT_EQ(handled(), handled_before);
    expect_well();
    if (HasFailure()) break;
  }
  const long pairs = said->pairs;
  wait_for([pairs] {
    return said->pairs > pairs + 1000 && said->children > 0 && said->spawns > 0 && said->threads > 0 && said->ticks > 0;
  });
  expect_well();
  RecordProperty("allocations", static_cast<int>(allocations));
  RecordProperty("most_held", static_cast<int>(most.held));
  RecordProperty("most_interrupted", static_cast<int>(most.interrupted));
  RecordProperty("longest_hold_us", static_cast<int>(most.longest_hold_ns / 1000));
}

TEST_F(InjectionTest, LeavesNothingWhereTheAgentIsntPatchedIn) {
  const auto before = code();
  const auto log = make_log();
  ASSERT_NE(log, nullptr);
  const auto injection = Injection::plan(program_, *image_);
  ASSERT_TRUE(injection) << injection.error().message;
  ASSERT_TRUE((*injection)->put_in({log->descriptor(), log->bytes(), &log->parts()}));
  EXPECT_TRUE((*injection)->is_there());
  EXPECT_NE(code(), before);
  ASSERT_TRUE((*injection)->take_out());
  EXPECT_FALSE((*injection)->is_there());
  EXPECT_EQ(code(), before);
  expect_well();
}

class InjectionTestWithSignals : public InjectionTest {
 protected:
  void SetUp() override { start_program(be_signalled); }
};

// Each signal stops a thread that is traced, until that is answered.
TEST_F(InjectionTestWithSignals, IsTakenOutAtOnce) {
  for (int round = 0; round < 30; ++round) {
    const auto log = make_log();
    ASSERT_NE(log, nullptr);
    const auto injection = Injection::plan(program_, *image_);
    ASSERT_TRUE(injection) << injection.error().message;
    ASSERT_TRUE((*injection)->put_in({log->descriptor(), log->bytes(), &log->parts()}));
    const auto out = (*injection)->take_out();
    ASSERT_TRUE(out) << "round " << round << ": " << out.error().message;
    const long ticks = said->ticks;
    wait_for([ticks] { return said->ticks > ticks + 10; });
  }
}

TEST_F(InjectionTest, LeavesNothingWhereTheLogIsNone) {
  const auto before = code();
  const auto log = make_log();
  ASSERT_NE(log, nullptr);
  log->header().version = 0;
  const auto injection = Injection::plan(program_, *image_);
  ASSERT_TRUE(injection) << injection.error().message;
  EXPECT_FALSE((*injection)->put_in({log->descriptor(), log->bytes(), &log->parts()}));
  EXPECT_EQ(code(), before);
  expect_well();
}

TEST_F(InjectionTest, IsRefusedWhereTheProgramIsRecordedAlready) {
  const auto log = make_log();
  ASSERT_NE(log, nullptr);
  const auto injection = Injection::plan(program_, *image_);
  ASSERT_TRUE(injection) << injection.error().message;
  ASSERT_TRUE((*injection)->put_in({log->descriptor(), log->bytes(), &log->parts()}));
  EXPECT_FALSE(Injection::plan(program_, *image_));
  EXPECT_TRUE((*injection)->take_out());
}

}  // namespace
}  // namespace heaptap::inject

#endif
