// Eight hours of `heaptap top`, a sample a second, without their time: what it holds after them is what it held after the first one.
#include <gtest/gtest.h>
#include <malloc.h>
#include <poll.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "made_up_recording.h"
#include "views/top/draw.h"
#include "views/top/observer.h"
#include "views/top/picture.h"

namespace {

struct Held {
  std::atomic<int64_t> blocks = 0;
  std::atomic<int64_t> bytes = 0;
};
Held held;

}  // namespace

void* operator new(size_t size) {
  void* const block = std::malloc(size);
  if (block == nullptr) throw std::bad_alloc();
  held.blocks.fetch_add(1, std::memory_order_relaxed);
  held.bytes.fetch_add(static_cast<int64_t>(malloc_usable_size(block)), std::memory_order_relaxed);
  return block;
}
void operator delete(void* block) noexcept {
  if (block == nullptr) return;
  held.blocks.fetch_sub(1, std::memory_order_relaxed);
  held.bytes.fetch_sub(static_cast<int64_t>(malloc_usable_size(block)), std::memory_order_relaxed);
  std::free(block);
}
void operator delete(void* block, size_t /*size*/) noexcept { operator delete(block); }

namespace heaptap::top {
namespace {

constexpr int kHour = 3600;

// Remembers nothing itself.
class Server : public test::MadeUpRecording {
 public:
  Server() {
    test::make_gate(*this);
    for (unsigned i = 0; i < 40; ++i) {
      stacks.push_back({.frames = {"handler_" + std::to_string(i), "serve(int)", "main"},
                        .count = {.allocations = 10, .live_blocks = 10, .live_bytes = 5000u - 100u * i}});
    }
  }
  void tick() override {
    test::go_on(*this);
    stacks[0].count.live_bytes = 1'000'000 + stacks[0].count.allocations % 300'000;
    named_ids.clear();
    images.clear();
    asked.clear();
    if (all_marks.size() > 3) all_marks.erase(all_marks.begin());
  }
};

class EightHours : public testing::Test {
 protected:
  void SetUp() override {
    auto observer = Observer::create(std::make_unique<Server>(), {});
    ASSERT_TRUE(observer.has_value());
    observer_ = *std::move(observer);
  }

  void ask(Question question) {
    question.request.pid = 7731;
    observer_->ask(std::move(question));
    std::vector<Answer> answers;
    while (answers.empty()) {
      pollfd wait{.fd = observer_->descriptor(), .events = POLLIN, .revents = 0};
      poll(&wait, 1, -1);
      answers = observer_->take();
    }
    for (Answer& answer : answers) {
      ASSERT_FALSE(answer.is_trouble) << answer.message;
      if (answer.sample) names_.add(answer.sample->named);
      if (answer.sample) history_.add(std::move(answer.sample));
      if (answer.leaks) history_.add_leaks(*std::move(answer.leaks));
      if (!answer.mark.empty()) history_.set_base(answer.mark);
      names_.add(answer.names);
      if (answer.page) page_ = std::move(answer.page);
    }
  }

  // What somebody does who looks at it now and then.
  void pass_second(int second) {
    ask({.request = {.first_names = second == 0 ? 200u : 0u, .threads = second % 2 == 0}});
    if (second % 30 == 0) ask({.kind = Question::Kind::kNames, .request = {.names = {uint64_t(second % 44 + 1)}}});
    if (second % 600 == 1) ask({.kind = Question::Kind::kMark, .mark = "mark " + std::to_string(second / 600 % 10)});
    if (second % 900 == 2) ask({.kind = Question::Kind::kScan});
    if (second % 900 == 3) ask({.kind = Question::Kind::kStack, .stack = uint64_t(second / 900 % 44 + 1)});
    if (second % 60 == 0) look(static_cast<Grouping>(second / 60 % kGroupingCount));
  }

  void look(Grouping grouping) {
    state_.grouping = grouping;
    const Layout layout = layout_of(80, 24);
    const Table table = make_table(history_, names_, state_);
    state_ = settled(state_, table, layout.page_rows());
    const Picture picture =
        make_picture({.history = history_, .names = names_, .table = table, .state = state_}, layout);
    title_ = draw(picture, layout, false).grid.line(0);
  }

  std::unique_ptr<Observer> observer_;
  History history_;
  NameBook names_;
  State state_;
  std::optional<StackPage> page_;
  std::string title_;
};

TEST_F(EightHours, TakeNoMoreMemoryThanOne) {
  int64_t blocks = 0;
  int64_t bytes = 0;
  for (int second = 0; second < 8 * kHour; ++second) {
    pass_second(second);
    if (second % kHour != kHour - 1) continue;
    look(Grouping::kStacks);
    if (blocks == 0) {
      blocks = held.blocks;
      bytes = held.bytes;
    }
    // Names of marks differ, and where a deque's pieces begin.
    EXPECT_LE(held.blocks, blocks + 20) << "after " << second + 1 << " s";
    EXPECT_LE(held.bytes, bytes + 4096) << "after " << second + 1 << " s";
  }
  EXPECT_EQ(history_.series(Gauge::kLive).size(), History::kMaxSeries);
  EXPECT_EQ(history_.value(Gauge::kAllocations), 1500);
  EXPECT_NE(title_.find("08:01"), std::string::npos) << title_;
}

}  // namespace
}  // namespace heaptap::top
