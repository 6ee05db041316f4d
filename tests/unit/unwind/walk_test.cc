// The one walk over stacks, with each kind of memory and CPU that it is used for or could be: made up, the agent's own, the
// tracer's copy; words of 64 and 32 bits in both orders of bytes; return addresses on the stack and in a register.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "agent/core/platform.h"
#include "agent/core/stack_window.h"
#include "capture/tracer/traced_stack.h"
#include "common/arch/aarch64/registers.h"
#include "common/arch/i386/registers.h"
#include "common/arch/x86_64/registers.h"
#include "made_stacks.h"

namespace heaptap::agent {

// What the agent's memory needs of its environment.
uintptr_t g_stack_top = 0;
bool may_call() { return true; }
bool keeps_to_reserve() { return false; }
void* take_reserve(size_t /*bytes*/) { return nullptr; }
void note_own_area(const void* /*start*/, size_t /*bytes*/) {}
void forget_own_area(const void* /*start*/) {}
uintptr_t platform::initial_stack_top() { return g_stack_top; }
uintptr_t platform::thread_control_block() { return 0; }

}  // namespace heaptap::agent

namespace heaptap::unwind {
namespace {

using test::FrameShape;
using test::MadeCode;
using test::MadeStack;

// --- Kinds of memory: put() stores a word, for_walk() gives what a walk that begins there goes through.

template <UnwoundCpu CpuType>
class MadeUp {
 public:
  using Cpu = CpuType;
  static constexpr bool kKeepsStackPointer = true;

  [[nodiscard]] static uint64_t begin() { return 0x7f001000; }
  [[nodiscard]] static uint64_t end() { return begin() + test::kStackBytes; }
  void put(uint64_t address, uint64_t value) { words_[(address - begin()) / kWord] = static_cast<Word>(value); }
  MadeUp& for_walk(const Frame& start) {
    lowest_ = start.slot != 0 ? start.slot : start.sp;
    return *this;
  }
  bool load(uint64_t address, uint64_t& value) {
    ++loads_;
    if (address % kWord != 0 || address < lowest_ || address >= end()) return false;
    value = words_[(address - begin()) / kWord];
    return true;
  }
  void enter_interrupted(uint64_t sp, uint64_t red_zone) { lowest_ = sp - red_zone; }
  [[nodiscard]] uint64_t loads() const { return loads_; }

 private:
  using Word = typename Cpu::Word;
  static constexpr uint64_t kWord = sizeof(Word);

  uint64_t loads_ = 0;
  std::vector<Word> words_ = std::vector<Word>(test::kStackBytes / kWord);
  uint64_t lowest_ = 0;
};

// The agent's: `kIsOwn`: the walk is on the thread's own stack.
template <bool kIsOwn>
class AgentsOwn : public test::MappedStack {
 public:
  using Cpu = arch::x86_64::Unwinding;
  static constexpr bool kKeepsStackPointer = false;

  AgentsOwn() { agent::g_stack_top = kIsOwn ? end() : 0; }
  static void put(uint64_t address, uint64_t value) { store(address, value); }
  agent::StackWindow& for_walk(const Frame& start) {
    window_.begin(start.slot);
    EXPECT_EQ(window_.is_on_own_stack(), kIsOwn);
    return window_;
  }

 private:
  agent::StackWindow window_;
};

template <UnwoundCpu CpuType, bool kIsBigEndian>
class TracersCopy : public test::MappedStack {
 public:
  using Cpu = CpuType;
  static constexpr bool kKeepsStackPointer = true;

  void put(uint64_t address, uint64_t value) {
    auto word = static_cast<Word>(value);
    if (kIsBigEndian)
      word = sizeof(Word) == 8 ? __builtin_bswap64(value) : __builtin_bswap32(static_cast<uint32_t>(value));
    store(address, word);
  }
  tracer::TracedStack<typename Cpu::Word>& for_walk(const Frame& start) {
    stack_.begin(getpid(), start.slot != 0 ? start.slot : start.sp, 0);
    return stack_;
  }

 private:
  using Word = typename Cpu::Word;

  process::TracedMemory memory_{getpid()};
  tracer::TracedStack<Word> stack_{memory_, kIsBigEndian};
};

// --- The walk

template <bool kKeepsSp>
struct Parts {
  using Name = uint32_t;
  using Code = uint64_t;
  struct Lists {
    static void* take(uint32_t /*frames*/, size_t bytes) { return std::malloc(bytes); }
    static void give_back(void* lists, uint32_t /*frames*/, size_t /*bytes*/) { std::free(lists); }
  };
  static constexpr bool kKeepsStackPointer = kKeepsSp;
};

template <bool kKeepsSp>
class RememberedStack : LastStack<RememberedStack<kKeepsSp>, Parts<kKeepsSp>> {
 public:
  RememberedStack() = default;
  ~RememberedStack() { std::free(this->words_); }
  RememberedStack(const RememberedStack&) = delete;
  RememberedStack& operator=(const RememberedStack&) = delete;

  template <typename Memory, typename Code>
  uint32_t walk(Memory& memory, Code& code, const FrameOf<typename Code::Cpu>& start) {
    Walk<typename Code::Cpu> walk{.at = {.frame = start}};
    return Base::walk(memory, code, walk);
  }

 private:
  using Base = LastStack<RememberedStack, Parts<kKeepsSp>>;
  friend Base;
};

template <typename Memory>
class WalkTest : public ::testing::Test {
 protected:
  using Cpu = typename Memory::Cpu;
  using Last = RememberedStack<Memory::kKeepsStackPointer>;

  uint32_t walk(Last& last) {
    FrameOf<Cpu> start = stack_.start();
    if (wrong_fp_ != 0) start.fp = wrong_fp_;
    return last.walk(memory_.for_walk(start), code_, start);
  }
  uint32_t walk() { return walk(last_); }
  uint32_t walk_again() {
    Last last;
    return walk(last);
  }
  // How many rules the next walk looks up.
  uint64_t lookups() {
    const uint64_t before = code_.rules_asked_for();
    walk();
    return code_.rules_asked_for() - before;
  }
  void expect_stack(uint32_t name) {
    const auto stack = code_.stack(name);
    EXPECT_EQ(stack.codes, stack_.codes());
    EXPECT_EQ(stack.end, wire::StackEnd::kComplete);
  }
  unsigned pick(size_t below) { return static_cast<unsigned>(random_() % below); }
  void call_one_of(unsigned kinds) { stack_.call(static_cast<FrameShape>(pick(kinds)), 4 + pick(40), pick(3)); }

  Memory memory_;
  MadeCode<Cpu> code_;
  MadeStack<Cpu, Memory> stack_{memory_, code_};
  Last last_;
  uint64_t wrong_fp_ = 0;  // what the frame pointer's register has where the walk begins
  std::mt19937 random_{7};
};

using Kinds =
    ::testing::Types<MadeUp<arch::x86_64::Unwinding>, MadeUp<arch::i386::Unwinding>, MadeUp<arch::aarch64::Unwinding>,
                     AgentsOwn<true>, AgentsOwn<false>, TracersCopy<arch::x86_64::Unwinding, false>,
                     TracersCopy<arch::i386::Unwinding, false>, TracersCopy<arch::i386::Unwinding, true>,
                     TracersCopy<arch::aarch64::Unwinding, false>, TracersCopy<arch::aarch64::Unwinding, true>>;
TYPED_TEST_SUITE(WalkTest, Kinds);

constexpr unsigned kShapesWithoutSignal = test::kShapeCount - 1;

TYPED_TEST(WalkTest, LeavesFramesOfEachShape) {
  for (unsigned shape = 0; shape < test::kShapeCount; ++shape) {
    for (const unsigned words : {4, 9, 30}) {
      this->stack_.call(static_cast<FrameShape>(shape), words);
      this->expect_stack(this->walk_again());
      this->expect_stack(this->walk());
      this->expect_stack(this->walk());
    }
  }
}

TYPED_TEST(WalkTest, StacksThatChangeAreWhatAWalkFromTheStartFinds) {
  for (int round = 0; round < 3000; ++round) {
    const bool is_deep = this->stack_.depth() > 60 || !this->stack_.has_room();
    const unsigned changes = this->pick(6);
    for (unsigned i = 0; i < changes; ++i) this->stack_.come_back();
    if (this->pick(2) == 0) this->stack_.move_on(this->pick(3));
    const unsigned kinds = this->pick(16) == 0 ? test::kShapeCount : kShapesWithoutSignal;
    for (unsigned i = 0; i < changes && !is_deep; ++i) this->call_one_of(kinds);
    const uint32_t name = this->walk();
    ASSERT_EQ(name, this->walk_again()) << "round " << round;
    ASSERT_EQ(this->code_.stack(name).codes, this->stack_.codes()) << "round " << round;
  }
}

TYPED_TEST(WalkTest, WhatIsUnchangedIsNotLookedUpAgain) {
  for (unsigned i = 0; i < 50; ++i) this->call_one_of(kShapesWithoutSignal);
  EXPECT_EQ(this->lookups(), 51u);
  EXPECT_EQ(this->lookups(), 0u);
  this->stack_.move_on(7);
  EXPECT_EQ(this->lookups(), 1u);
  // What was innermost is known by where its return address is, if that was on the stack.
  const uint64_t met_again = unwind::kHasLinkRegister<typename TypeParam::Cpu> ? 1 : 0;
  for (unsigned i = 0; i < 3; ++i) this->stack_.call(FrameShape::kFramed, 10);
  EXPECT_EQ(this->lookups(), 3u + met_again);
  for (unsigned i = 0; i < 3; ++i) this->stack_.come_back();
  EXPECT_EQ(this->lookups(), met_again);
}

TYPED_TEST(WalkTest, OnlyAsDeepAsAskedFor) {
  for (unsigned i = 0; i < 30; ++i) this->call_one_of(kShapesWithoutSignal);
  const std::vector<uint64_t> all = this->stack_.codes();
  for (uint32_t depth = 1; depth < all.size() + 2; ++depth) {
    this->code_.set_depth_limit(depth);
    typename TestFixture::Last last;
    for (int time = 0; time < 2; ++time) {
      const auto stack = this->code_.stack(this->walk(last));
      const auto kept = static_cast<ptrdiff_t>(std::min<size_t>(depth, all.size()));
      EXPECT_EQ(stack.codes, std::vector<uint64_t>(all.begin(), all.begin() + kept));
      EXPECT_EQ(stack.end, depth < all.size() ? wire::StackEnd::kDepthLimit : wire::StackEnd::kComplete);
    }
  }
}

TYPED_TEST(WalkTest, StacksOfARequestedDepthThatChangeAreWhatAWalkFromTheStartFinds) {
  for (const uint32_t depth : {1u, 2u, 8u, 30u}) {
    this->code_.set_depth_limit(depth);
    typename TestFixture::Last last;
    for (int round = 0; round < 1000; ++round) {
      const bool is_deep = this->stack_.depth() > 900;
      const bool is_far = this->pick(20) == 0;
      for (unsigned i = this->pick(is_far ? 700 : 6); i > 0; --i) this->stack_.come_back();
      if (this->pick(2) == 0) this->stack_.move_on(this->pick(3));
      const unsigned kinds = this->pick(16) == 0 ? test::kShapeCount : kShapesWithoutSignal;
      const unsigned calls = this->pick(is_far ? 900 : 6);
      for (unsigned i = 0; i < calls && !is_deep && this->stack_.has_room(); ++i) this->call_one_of(kinds);
      const uint32_t name = this->walk(last);
      ASSERT_EQ(name, this->walk_again()) << "depth " << depth << ", round " << round;
      std::vector<uint64_t> expected = this->stack_.codes();
      if (expected.size() > depth) expected.resize(depth);
      ASSERT_EQ(this->code_.stack(name).codes, expected) << "depth " << depth << ", round " << round;
    }
  }
}

// A limited stack isn't walked at each event.
TYPED_TEST(WalkTest, WhatIsUnchangedOfARequestedDepthIsNotLookedUpAgain) {
  constexpr uint32_t kSpare = spare_frames(8);
  while (this->stack_.depth() < 3 * kSpare) this->stack_.call(FrameShape::kPlain, 10);
  this->code_.set_depth_limit(8);
  EXPECT_EQ(this->lookups(), 8 + kSpare);
  EXPECT_EQ(this->lookups(), 0u);
  this->stack_.move_on(7);
  EXPECT_EQ(this->lookups(), 1u);
  const uint64_t met_again = unwind::kHasLinkRegister<typename TypeParam::Cpu> ? 1 : 0;
  for (unsigned i = 0; i < kSpare / 2; ++i) this->stack_.call(FrameShape::kPlain, 10);
  EXPECT_EQ(this->lookups(), kSpare / 2 + met_again);
  for (unsigned i = 0; i < kSpare / 2; ++i) this->stack_.come_back();
  EXPECT_EQ(this->lookups(), met_again);
}

TYPED_TEST(WalkTest, StacksAreWholeAsFarAsThatIsCheap) {
  while (this->stack_.depth() < kWholeFrames) this->stack_.call(FrameShape::kFramed, 12);
  this->expect_stack(this->walk());
  EXPECT_EQ(this->lookups(), 0u);
}

TYPED_TEST(WalkTest, OfDeeperStacksTheInnermostFramesAreKept) {
  const auto expect_inner_frames = [this] {
    const auto stack = this->code_.stack(this->walk());
    const std::vector<uint64_t> all = this->stack_.codes();
    const bool is_cut = stack.end == wire::StackEnd::kDepthLimit;
    ASSERT_GE(stack.codes.size(), is_cut ? kMinOfDeeper : all.size());
    ASSERT_TRUE(std::equal(stack.codes.begin(), stack.codes.end(), all.begin())) << "at depth " << all.size();
  };
  while (this->stack_.has_room()) {
    this->stack_.call(this->pick(4) == 0 ? FrameShape::kPlain : FrameShape::kFramed, 8, this->pick(3));
    if (this->pick(16) == 0) {
      ASSERT_NO_FATAL_FAILURE(expect_inner_frames());
    }
  }
  EXPECT_GT(this->stack_.depth(), 2 * kWholeFrames);
  while (this->stack_.depth() > 1) {
    for (unsigned i = this->pick(30); i > 0; --i) this->stack_.come_back();
    this->stack_.move_on(this->pick(3));
    ASSERT_NO_FATAL_FAILURE(expect_inner_frames());
  }
  this->expect_stack(this->walk());
}

// What an event costs in a recursion: words of the stack that are compared, frames that are looked up.
TYPED_TEST(WalkTest, WhatAnEventCostsHasABoundHoweverDeepTheStackIs) {
  if constexpr (requires { this->memory_.loads(); }) {
    const auto cost = [this] {
      const uint64_t before = this->memory_.loads() + this->code_.rules_asked_for();
      this->walk();
      return this->memory_.loads() + this->code_.rules_asked_for() - before;
    };
    uint64_t most = 0;
    uint64_t sum = 0;
    uint64_t events = 0;
    const auto count = [&](uint64_t steps) {
      most = std::max(most, steps);
      sum += steps;
      ++events;
    };
    while (this->stack_.has_room()) {
      this->stack_.call(FrameShape::kPlain, 4);
      count(cost());
    }
    EXPECT_GT(this->stack_.depth(), 3 * kWholeFrames);
    while (this->stack_.depth() > 1) {
      this->stack_.come_back();
      count(cost());
    }
    EXPECT_LE(most, 3 * kWholeFrames);
    EXPECT_LE(sum, events * kMaxOfDeeper);
  }
}

TYPED_TEST(WalkTest, CodeWithoutTablesEndsAStackWhereItsFramePointerLeadsNowhere) {
  constexpr uint64_t kWord = sizeof(typename TypeParam::Cpu::Word);
  for (unsigned i = 0; i < 5; ++i) this->stack_.call(FrameShape::kNoTable, 8);
  const uint64_t first = this->stack_.codes().back();
  this->code_.set_row(first, Row(RowKind::kNoTable));
  const auto stack = this->code_.stack(this->walk());
  EXPECT_EQ(stack.codes, this->stack_.codes());
  EXPECT_EQ(stack.end, wire::StackEnd::kNoUnwindTable);
  EXPECT_EQ(this->lookups(), 0u) << "that it does is proven by the frame pointer";
  // The first function's frame pointer leads into it now.
  const uint64_t top = this->memory_.end() - 8 * kWord;
  const uint64_t place = this->memory_.end() - 66 * kWord;
  this->memory_.put(place, top);
  this->memory_.put(top, 0);
  this->memory_.put(top + kWord, first);
  const uint32_t name = this->walk();
  EXPECT_EQ(name, this->walk_again());
  EXPECT_EQ(this->code_.stack(name).codes.size(), stack.codes.size() + 1);
}

// As Go's code does, which runs C code on another stack than its own.
TYPED_TEST(WalkTest, CodeThatChainsItsStacksIsFollowedToItsCallersStack) {
  constexpr uint64_t kWord = sizeof(typename TypeParam::Cpu::Word);
  constexpr uint64_t kCaller = 0x40001000;
  constexpr uint64_t kOutermost = 0x40002000;
  for (unsigned i = 0; i < 5; ++i) this->stack_.call(FrameShape::kNoTable, 8);
  for (const uint64_t key : {this->stack_.codes().back(), kCaller, kOutermost})
    this->code_.set_row(key, Row(RowKind::kNoTable));
  const uint64_t there = this->memory_.begin() + 64 * kWord;  // lower than this stack
  this->memory_.put(this->memory_.end() - 66 * kWord, there);
  this->memory_.put(there, there + 4 * kWord);
  this->memory_.put(there + kWord, kCaller);
  this->memory_.put(there + 4 * kWord, 0);
  this->memory_.put(there + 5 * kWord, kOutermost);
  EXPECT_EQ(this->code_.stack(this->walk_again()).codes, this->stack_.codes()) << "no code of that kind";
  this->code_.set_chains_stacks(true);
  std::vector<uint64_t> codes = this->stack_.codes();
  codes.insert(codes.end(), {kCaller, kOutermost});
  const auto stack = this->code_.stack(this->walk_again());
  EXPECT_EQ(stack.codes, codes);
  EXPECT_EQ(stack.end, wire::StackEnd::kComplete);
  // What lies on the other stack is looked at each time.
  this->memory_.put(there + kWord, kOutermost);
  codes[codes.size() - 2] = kOutermost;
  EXPECT_EQ(this->code_.stack(this->walk()).codes, codes);
  this->memory_.put(there, there);  // a circle
  EXPECT_EQ(this->walk(), this->walk_again());
}

TYPED_TEST(WalkTest, DamagedStacksEndTheWalkAndAreWhatAWalkFromTheStartFinds) {
  constexpr uint64_t kWord = sizeof(typename TypeParam::Cpu::Word);
  for (unsigned i = 0; i < 40; ++i) this->call_one_of(kShapesWithoutSignal);
  const uint64_t lowest = this->stack_.start().sp;
  const uint64_t words = (this->memory_.end() - lowest) / kWord;
  this->code_.set_depth_limit(1000);
  std::vector<uint64_t> keys = this->stack_.codes();
  for (int round = 0; round < 500; ++round) {
    for (int damage = 0; damage < 2; ++damage) {
      const uint64_t near = lowest + this->pick(words) * kWord;
      const uint64_t values[] = {0, near, keys[this->pick(keys.size())], this->random_(), near + 1};
      this->memory_.put(lowest + this->pick(words) * kWord, values[this->pick(std::size(values))]);
    }
    this->wrong_fp_ = round % 3 == 0 ? lowest + this->pick(words) * kWord : 0;
    ASSERT_EQ(this->walk(), this->walk_again()) << "round " << round;
  }
}

TYPED_TEST(WalkTest, AnotherFramePointerLeadsToAnotherStack) {
  for (unsigned i = 0; i < 5; ++i) this->stack_.call(FrameShape::kFramed, 8);
  const uint64_t outer_fp = this->stack_.start().fp;
  for (unsigned i = 0; i < 5; ++i) this->stack_.call(FrameShape::kFramed, 8);
  const uint32_t whole = this->walk();
  this->wrong_fp_ = outer_fp;
  EXPECT_EQ(this->walk(), this->walk_again());
  EXPECT_NE(this->walk(), whole);
  this->wrong_fp_ = 0;
  EXPECT_EQ(this->walk(), whole);
}

// --- A signature is no part of an address

TEST(StepByRow, TakesTheSignatureOffAReturnAddress) {
  MadeUp<arch::aarch64::Unwinding> memory;
  const uint64_t sp = memory.end() - 256;
  for (const unsigned bits : {39u, 48u}) {
    const arch::aarch64::Unwinding cpu{.address_bits = bits};
    const uint64_t address = 0x5500001234;
    memory.put(sp + 8, address | uint64_t{0x2b} << bits);
    memory.put(sp, 0x1111);
    Position<arch::aarch64::Unwinding> at;
    at.frame.sp = at.frame.fp = sp;
    EXPECT_TRUE(step_by_row(cpu, Row(RowKind::kFrameRecord, 1, 0, 4), memory.for_walk(at.frame), at));
    EXPECT_EQ(at.frame.key, address & cpu.address_mask());
    EXPECT_EQ(at.frame.fp, 0x1111u);
    EXPECT_EQ(at.frame.sp, sp + 32);
    EXPECT_EQ(at.origin, kByFramePointer | kLoadsFramePointer);
  }
}

TEST(StepByRow, NeedsTheLinkRegisterOfALeaf) {
  MadeUp<arch::aarch64::Unwinding> memory;
  Position<arch::aarch64::Unwinding> at;
  at.frame.sp = memory.end() - 256;
  at.frame.link = 0x1234;
  EXPECT_TRUE(step_by_row(arch::aarch64::Unwinding(), Row(RowKind::kStackLeaf, 0, 0, 2), memory, at));
  EXPECT_EQ(at.frame.key, 0x1234u);
  EXPECT_EQ(at.frame.slot, 0u);
  EXPECT_FALSE(step_by_row(arch::aarch64::Unwinding(), Row(RowKind::kStackLeaf, 0, 0, 2), memory, at));
  EXPECT_EQ(at.end, wire::StackEnd::kUnreadable) << "a call overwrote it";
}

}  // namespace
}  // namespace heaptap::unwind
