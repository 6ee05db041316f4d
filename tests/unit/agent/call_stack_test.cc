// The agent's call stacks with all that is remembered of a thread's: stacks that are made up, walked again and again, and each
// time from the start by another one.
#include "agent/core/call_stack.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "made_stacks.h"

namespace heaptap::agent {

// What call stacks need of their environment.
constinit Pieces g_pieces{};
uintptr_t g_stack_top = 0;
bool g_has_no_memory = false;
bool may_call() { return !g_has_no_memory; }
bool keeps_to_reserve() { return false; }
void* take_reserve(size_t /*bytes*/) { return nullptr; }
void note_own_area(const void* /*start*/, size_t /*bytes*/) {}
void forget_own_area(const void* /*start*/) {}
uintptr_t platform::initial_stack_top() { return g_stack_top; }
uintptr_t platform::thread_control_block() { return 0; }
uint64_t platform::module_changes() { return 0; }
void platform::for_each_module(void (* /*visit*/)(void*, const ModuleFacts&), void* /*context*/) {}
bool platform::visit_module_at(uintptr_t /*address*/, void (* /*visit*/)(void*, const ModuleFacts&),
                               void* /*context*/) {
  return false;
}

namespace {

using Cpu = UnwindTables::Cpu;
using test::FrameShape;

class Memory : public test::MappedStack {
 public:
  static void put(uint64_t address, uint64_t value) { store(address, value); }
};

// The agent's tables, in a log of their own. Code without tables isn't known to them: nothing is loaded.
class Code {
 public:
  static constexpr test::MadeCode<Cpu>::Signal kSignal{
      arch::native::kSignalTrampolines[0].frame_pointer, arch::native::kSignalTrampolines[0].stack_pointer,
      arch::native::kSignalTrampolines[0].program_counter, arch::native::kSignalTrampolines[0].link_register};
  Code() {
    header_->node_count = wire::kRootCount;
    if (!tables_->rules.start(codes_.get(), kCapacity, header_.get()) ||
        !tables_->trie.start(nodes_.get(), kCapacity, kCapacity, header_.get())) {
      std::abort();
    }
    tables_->set_depth_limit(unwind::depth_limit_for(0));
  }
  UnwindTables& tables() { return *tables_; }

  void set_row(uint64_t key, unwind::Row row) {
    rows_[key] = row;
    tables_->rules.add(key, 0, row);
  }
  [[nodiscard]] unwind::Row row_of(uint64_t key) const { return rows_.at(key); }

  struct Stack {
    std::vector<uint64_t> codes;  // innermost first
    wire::StackEnd end;
  };
  [[nodiscard]] Stack stack(uint32_t number) const {
    std::vector<uint64_t> codes;
    while (number >= wire::kRootCount) {
      const uint64_t node = nodes_[number];
      codes.push_back(codes_[wire::node_code(node)]);
      number = wire::node_parent(node);
    }
    return {codes, static_cast<wire::StackEnd>(number)};
  }

 private:
  static constexpr uint32_t kCapacity = 1u << 20;

  std::unique_ptr<wire::LogHeader> header_ = std::make_unique<wire::LogHeader>();
  std::unique_ptr<wire::CodeEntry[]> codes_ = std::make_unique<wire::CodeEntry[]>(kCapacity);
  std::unique_ptr<wire::StackNode[]> nodes_ = std::make_unique<wire::StackNode[]>(kCapacity);
  std::unique_ptr<UnwindTables> tables_ = std::make_unique<UnwindTables>();
  std::map<uint64_t, unwind::Row> rows_;
};

// On the thread's own stack, whose memory may be looked at before a walk, and on another.
class CallStackTest : public ::testing::TestWithParam<bool> {
 protected:
  CallStackTest() {
    g_stack_top = GetParam() ? memory_.end() : 0;
    last_->begin();
  }

  uint32_t capture(CallStack& call_stack) {
    Frame start = stack_.start();
    if (wrong_fp_ != 0) start.fp = wrong_fp_;
    return call_stack.capture(code_.tables(), start, start.slot != 0 ? start.slot : start.sp);
  }
  uint32_t capture() { return capture(*last_); }
  uint32_t capture_again() {
    const auto fresh = std::make_unique<CallStack>();
    fresh->begin();
    return capture(*fresh);
  }
  unsigned pick(size_t below) { return static_cast<unsigned>(random_() % below); }
  void call_one_of(unsigned kinds) {
    // Few kinds of calls, so that the same ones come again.
    constexpr FrameShape kShapes[] = {FrameShape::kPlain, FrameShape::kSaving, FrameShape::kFramed,
                                      FrameShape::kRealigned, FrameShape::kSignal};
    stack_.call(kShapes[pick(kinds)], 4 + pick(3), pick(2));
  }
  static constexpr unsigned kKindsWithoutSignal = 4;
  static constexpr unsigned kKinds = 5;

  Memory memory_;
  Code code_;
  test::MadeStack<Cpu, Memory, Code> stack_{memory_, code_};
  std::unique_ptr<CallStack> last_ = std::make_unique<CallStack>();
  uint64_t wrong_fp_ = 0;  // what the frame pointer's register has where a stack is captured
  std::mt19937 random_{11};
};

TEST_P(CallStackTest, StacksThatChangeAreWhatAWalkFromTheStartFinds) {
  for (int round = 0; round < 20000; ++round) {
    const bool is_deep = stack_.depth() > 40;
    const unsigned changes = pick(4);
    for (unsigned i = 0; i < changes; ++i) stack_.come_back();
    if (pick(3) == 0) stack_.move_on(pick(2));
    const unsigned kinds = pick(64) == 0 ? kKinds : kKindsWithoutSignal;
    for (unsigned i = 0; i < changes && !is_deep; ++i) call_one_of(kinds);
    const uint32_t number = capture();
    const Code::Stack found = code_.stack(number);
    ASSERT_EQ(found.codes, stack_.codes()) << "round " << round;
    ASSERT_EQ(found.end, wire::StackEnd::kComplete);
    if (round % 16 == 0) {
      ASSERT_EQ(number, capture_again()) << "round " << round;
    }
  }
}

// A few ways to the allocator that take turns, far out the same: what the suffix cache is for. Somewhere on their way, or further
// out, something changes.
TEST_P(CallStackTest, SuffixesAreOnlyBelievedWhereTheyStand) {
  for (int i = 0; i < 20; ++i) call_one_of(kKindsWithoutSignal);
  for (int round = 0; round < 20000; ++round) {
    if (pick(200) == 0) {
      for (int i = 0; i < 5; ++i) stack_.come_back();
      for (int i = 0; i < 5; ++i) call_one_of(kKindsWithoutSignal);
    }
    const size_t depth = stack_.depth();
    const uint64_t outer_fp = stack_.start().fp;
    const unsigned way = pick(4);
    constexpr FrameShape kWays[4][3] = {{FrameShape::kPlain, FrameShape::kPlain, FrameShape::kPlain},
                                        {FrameShape::kPlain, FrameShape::kFramed, FrameShape::kPlain},
                                        {FrameShape::kRealigned, FrameShape::kPlain, FrameShape::kSaving},
                                        {FrameShape::kFramed, FrameShape::kRealigned, FrameShape::kFramed}};
    for (const FrameShape shape : kWays[way]) stack_.call(shape, 4 + (pick(30) == 0 ? 1 : 0));
    const uint32_t number = capture();
    ASSERT_EQ(code_.stack(number).codes, stack_.codes()) << "round " << round;
    if (pick(8) == 0) {
      wrong_fp_ = outer_fp + 8;
      ASSERT_EQ(capture(), capture_again()) << "round " << round;
      wrong_fp_ = 0;
    }
    while (stack_.depth() > depth) stack_.come_back();
  }
}

// Stacks around the depth that the lists have room for, as events capture them: a look first, and a walk where that fails.
TEST_P(CallStackTest, WithoutMemoryForMoreFramesNoOtherStackIsTaken) {
  while (stack_.depth() < unwind::kUsualFrames - 20) call_one_of(kKindsWithoutSignal);
  capture();
  g_has_no_memory = true;
  uint64_t cut = 0;
  for (int round = 0; round < 20000; ++round) {
    const bool is_deep = stack_.depth() > unwind::kUsualFrames + 20;
    const unsigned changes = pick(4) + (pick(50) == 0 ? 20 : 0);
    for (unsigned i = 0; i < changes; ++i) stack_.come_back();
    if (pick(3) == 0) stack_.move_on(pick(2));
    for (unsigned i = changes + 1; i > 0 && !is_deep; --i) call_one_of(kKindsWithoutSignal);
    const Frame start = stack_.start();
    uint32_t number = last_->seen_changes() == code_.tables().changes.value() ? last_->find_known(start) : 0;
    if (number == 0) number = last_->walk(code_.tables(), start, start.slot != 0 ? start.slot : start.sp);
    const Code::Stack found = code_.stack(number);
    const std::vector<uint64_t> all = stack_.codes();
    const bool is_cut = found.end != wire::StackEnd::kComplete;
    cut += is_cut ? 1 : 0;
    ASSERT_TRUE(found.codes.size() == all.size() || (is_cut && found.codes.size() < all.size())) << "round " << round;
    ASSERT_TRUE(std::equal(found.codes.begin(), found.codes.end(), all.begin())) << "round " << round;
  }
  g_has_no_memory = false;
  EXPECT_GT(cut, 0u);
}

TEST_P(CallStackTest, DamagedStacksAreWhatAWalkFromTheStartFinds) {
  for (int i = 0; i < 40; ++i) call_one_of(kKindsWithoutSignal);
  const uint64_t lowest = stack_.start().sp;
  const uint64_t words = (memory_.end() - lowest) / 8;
  const std::vector<uint64_t> keys = stack_.codes();
  code_.tables().set_depth_limit(unwind::depth_limit_for(1000));
  for (int round = 0; round < 2000; ++round) {
    for (int damage = 0; damage < 2; ++damage) {
      const uint64_t near = lowest + pick(words) * uint64_t{8};
      const uint64_t values[] = {0, near, keys[pick(keys.size())], random_(), near + 1};
      Memory::put(lowest + pick(words) * uint64_t{8}, values[pick(std::size(values))]);
    }
    ASSERT_EQ(capture(), capture_again()) << "round " << round;
  }
}

TEST_P(CallStackTest, OnlyAsDeepAsAskedFor) {
  for (int i = 0; i < 30; ++i) call_one_of(kKindsWithoutSignal);
  const std::vector<uint64_t> all = stack_.codes();
  for (uint32_t depth = 1; depth < all.size() + 2; ++depth) {
    code_.tables().set_depth_limit(unwind::depth_limit_for(depth));
    last_->begin();
    for (int time = 0; time < 2; ++time) {
      const Code::Stack stack = code_.stack(capture());
      const auto kept = static_cast<ptrdiff_t>(std::min<size_t>(depth, all.size()));
      EXPECT_EQ(stack.codes, std::vector<uint64_t>(all.begin(), all.begin() + kept));
      EXPECT_EQ(stack.end, depth < all.size() ? wire::StackEnd::kDepthLimit : wire::StackEnd::kComplete);
    }
  }
}

// Stacks of a requested depth that change, in steps small and large, across the frames that are remembered beside.
TEST_P(CallStackTest, StacksOfARequestedDepthAreWhatAWalkFromTheStartFinds) {
  for (const uint32_t depth : {1u, 2u, 3u, 8u, 20u, 60u, 300u}) {
    code_.tables().set_depth_limit(unwind::depth_limit_for(depth));
    last_ = std::make_unique<CallStack>();
    last_->begin();
    const int rounds = depth < 100 ? 8000 : 1500;  // the table has room for so many frames
    for (int round = 0; round < rounds; ++round) {
      const bool is_deep = stack_.depth() > 900;
      const bool is_far = pick(40) == 0;
      const unsigned changes = is_far ? pick(700) : pick(5);
      for (unsigned i = 0; i < changes; ++i) stack_.come_back();
      if (pick(3) == 0) stack_.move_on(pick(2));
      const unsigned kinds = pick(64) == 0 ? kKinds : kKindsWithoutSignal;
      const unsigned calls = is_far ? pick(900) : changes;
      for (unsigned i = 0; i < calls && !is_deep && stack_.has_room(); ++i) call_one_of(kinds);
      const uint32_t number = capture();
      const Code::Stack found = code_.stack(number);
      std::vector<uint64_t> expected = stack_.codes();
      const bool is_cut = expected.size() > depth;
      if (is_cut) expected.resize(depth);
      ASSERT_EQ(found.codes, expected) << "depth " << depth << ", round " << round;
      ASSERT_EQ(found.end, is_cut ? wire::StackEnd::kDepthLimit : wire::StackEnd::kComplete);
      if (round % 16 == 0) {
        ASSERT_EQ(number, capture_again()) << "depth " << depth << ", round " << round;
      }
      ASSERT_LE(last_->remembered_frames(), depth + 2 * unwind::spare_frames(depth));
    }
  }
}

TEST_P(CallStackTest, TheCallerAloneIsFoundByItsReturnAddress) {
  for (int i = 0; i < 3000; ++i) {
    if (stack_.depth() > 100) stack_.come_back();
    call_one_of(kKindsWithoutSignal);
    const uintptr_t caller = stack_.codes().front();
    const uint32_t number = last_->name_caller(code_.tables(), caller);
    ASSERT_EQ(last_->find_caller(caller), number);
    const Code::Stack found = code_.stack(number);
    ASSERT_EQ(found.codes, std::vector<uint64_t>{caller});
    ASSERT_EQ(found.end, wire::StackEnd::kDepthLimit);
  }
  const uintptr_t caller = stack_.codes().front();
  code_.tables().changes.count_up();
  last_->name_caller(code_.tables(), stack_.codes().back());
  EXPECT_EQ(last_->find_caller(caller), 0u) << "other code may be there";
  EXPECT_EQ(last_->seen_changes(), code_.tables().changes.value());
}

TEST_P(CallStackTest, DamagedStacksOfARequestedDepthAreWhatAWalkFromTheStartFinds) {
  for (int i = 0; i < 40; ++i) call_one_of(kKindsWithoutSignal);
  const uint64_t lowest = stack_.start().sp;
  const uint64_t words = (memory_.end() - lowest) / 8;
  const std::vector<uint64_t> keys = stack_.codes();
  for (const uint32_t depth : {2u, 8u, 30u}) {
    code_.tables().set_depth_limit(unwind::depth_limit_for(depth));
    last_ = std::make_unique<CallStack>();
    last_->begin();
    for (int round = 0; round < 2000; ++round) {
      for (int damage = 0; damage < 2; ++damage) {
        const uint64_t near = lowest + pick(words) * uint64_t{8};
        const uint64_t values[] = {0, near, keys[pick(keys.size())], random_(), near + 1};
        Memory::put(lowest + pick(words) * uint64_t{8}, values[pick(std::size(values))]);
      }
      ASSERT_EQ(capture(), capture_again()) << "depth " << depth << ", round " << round;
    }
  }
}

// Up and down a recursion. What is remembered is what an event compares.
TEST_P(CallStackTest, DeepStacksAreCutAndWhatIsRememberedHasABound) {
  const auto expect_inner_frames = [&](uint32_t number) {
    const Code::Stack found = code_.stack(number);
    const std::vector<uint64_t> all = stack_.codes();
    ASSERT_LE(found.codes.size(), all.size());
    const bool is_cut = found.end == wire::StackEnd::kDepthLimit;
    if (is_cut) {
      ASSERT_GT(all.size(), unwind::kMinOfDeeper);
      ASSERT_GE(found.codes.size(), unwind::kMinOfDeeper);
    } else {
      ASSERT_EQ(found.codes.size(), all.size());
    }
    ASSERT_TRUE(std::equal(found.codes.begin(), found.codes.end(), all.begin())) << "at depth " << all.size();
    ASSERT_LE(last_->remembered_frames(), is_cut ? unwind::kMaxOfDeeper : unwind::kWholeFrames);
  };
  const auto is_looked_at = [&] { return pick(64) == 0; };
  while (stack_.has_room()) {
    stack_.call(pick(4) == 0 ? FrameShape::kFramed : FrameShape::kPlain, 4, pick(2));
    const uint32_t number = capture();
    if (is_looked_at()) {
      ASSERT_NO_FATAL_FAILURE(expect_inner_frames(number));
    }
  }
  EXPECT_GT(stack_.depth(), 3 * unwind::kWholeFrames);
  for (int round = 0; stack_.depth() > 20; ++round) {
    // With ways up again, by which other frames come to be where those were.
    const bool goes_up = pick(3) == 0;
    for (unsigned i = pick(goes_up ? 20 : 40); i > 0; --i) {
      if (!goes_up) {
        stack_.come_back();
      } else if (stack_.has_room()) {
        call_one_of(kKindsWithoutSignal);
      }
      const uint32_t number = capture();
      if (is_looked_at()) {
        ASSERT_NO_FATAL_FAILURE(expect_inner_frames(number)) << "round " << round;
      }
    }
  }
  EXPECT_EQ(code_.stack(capture()).end, wire::StackEnd::kComplete);
}

INSTANTIATE_TEST_SUITE_P(Stacks, CallStackTest, ::testing::Bool(),
                         [](const auto& is_own) { return is_own.param ? "Own" : "Foreign"; });

}  // namespace
}  // namespace heaptap::agent
