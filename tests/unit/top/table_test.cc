#include "views/top/table.h"

#include <gtest/gtest.h>

#include "made_up_recording.h"
#include "views/top/take_sample.h"

namespace heaptap::top {
namespace {

class Tables : public testing::Test {
 protected:
  void SetUp() override {
    test::make_gate(recording_);
    sample(10);
    test::go_on(recording_);
    sample(0);
  }
  void sample(size_t names) {
    auto taken = take_sample(recording_, {.first_names = names, .threads = true}, {});
    ASSERT_TRUE(taken.has_value());
    names_.add(taken->named);
    history_.add(std::make_shared<const Sample>(*std::move(taken)));
  }
  std::vector<uint64_t> keys() {
    std::vector<uint64_t> keys;
    for (const Table::Place& place : make_table(history_, names_, state_).order) keys.push_back(place.key);
    return keys;
  }
  void sort_by(Figure figure) { state_.sorts[static_cast<size_t>(state_.grouping)] = figure; }

  test::MadeUpRecording recording_;
  History history_;
  NameBook names_;
  State state_;
};

using Keys = std::vector<uint64_t>;

TEST_F(Tables, SortByEachFigure) {
  EXPECT_EQ(keys(), (Keys{1, 3, 2, 4}));
  sort_by(Figure::kGrowth);
  EXPECT_EQ(keys(), (Keys{2, 3, 4, 1}));
  state_.reversed = true;
  EXPECT_EQ(keys(), (Keys{1, 3, 4, 2}));
  state_.reversed = false;
  sort_by(Figure::kRate);
  EXPECT_EQ(keys(), (Keys{1, 2, 3, 4}));
  sort_by(Figure::kTemporary);
  EXPECT_EQ(keys(), (Keys{4, 1, 2, 3}));
  sort_by(Figure::kLifetime);  // the mapping has none: it is last either way
  EXPECT_EQ(keys(), (Keys{1, 2, 4, 3}));
  state_.reversed = true;
  EXPECT_EQ(keys(), (Keys{4, 2, 1, 3}));
  state_.reversed = false;
  sort_by(Figure::kAge);  // the oldest first; all of the last one was released
  EXPECT_EQ(keys(), (Keys{3, 1, 2, 4}));
}

TEST_F(Tables, CountAgesUpToWhatIsCounted) {
  const auto age_s = [&](uint64_t key) {
    const auto age = row_of(history_, {}, state_, key).of(Figure::kAge);
    return age ? *age / 1e9 : -1;
  };
  EXPECT_EQ(age_s(1), 41);  // 61 s are counted
  EXPECT_EQ(age_s(2), 16);
  EXPECT_EQ(age_s(4), -1) << "nothing of it is alive";
  // What is still to be read isn't there yet, and what is there isn't older for that.
  recording_.last_event_ns = 61'500'000'000;
  recording_.now.time_ns = 90'000'000'000;
  recording_.fresh = {.read_bytes = 100, .written_bytes = 5'000'000};
  sample(0);
  EXPECT_EQ(age_s(1), 41.5);
  recording_.stacks[0].count.set_live_unknown();
  sample(0);
  EXPECT_EQ(age_s(1), -1);
}

TEST_F(Tables, CountWhatAFilterHidesAndWhatHasNoNamesYet) {
  state_.filter = "LOG_line";
  EXPECT_EQ(keys(), Keys{}) << "a capital says that capitals matter";
  state_.filter = "log_line";
  EXPECT_EQ(keys(), Keys{2});
  recording_.stacks.push_back({.frames = {"late"}, .count = {.allocations = 1}});
  sample(0);
  const Table table = make_table(history_, names_, state_);
  EXPECT_EQ(table.hidden, 3u);
  EXPECT_EQ(table.unnamed, 1u);
  EXPECT_EQ(table.names_next, Keys{5});
}

TEST_F(Tables, SumUpMemoryOfSystemLibraries) {
  recording_.stacks.push_back(test::emergency_pool());
  sample(0);
  EXPECT_EQ(keys(), (Keys{1, 3, 2, 5, 4})) << "without names nobody knows";
  sample(10);
  recording_.stacks.push_back(test::emergency_pool());
  sample(10);
  const Table table = make_table(history_, names_, state_);
  EXPECT_EQ(keys(), (Keys{1, 3, 2, 4, kLibrariesKey}));
  EXPECT_EQ(table.stack_count(), 6u);
  const TableRow row = row_of(history_, table, state_, kLibrariesKey);
  EXPECT_EQ(row.of(Figure::kLive), 2 * 72'704);
  EXPECT_EQ(row.of(Figure::kBlocks), 2);
  EXPECT_EQ(row.of(Figure::kAge), row_of(history_, table, state_, 5).of(Figure::kAge)) << "the mean";
  state_.filter = "pool";
  EXPECT_EQ(keys(), (Keys{5, 6}));
  state_.filter.clear();
  state_.sums_up_libraries = false;
  EXPECT_EQ(keys(), (Keys{1, 3, 2, 5, 6, 4}));
}

TEST_F(Tables, ListMemoryOfSystemLibrariesWhereThereIsNoOther) {
  for (test::MadeUpStack& stack : recording_.stacks) stack.count.allocations = 0;
  recording_.stacks.push_back(test::emergency_pool());
  sample(10);
  EXPECT_EQ(keys(), Keys{5});
  EXPECT_FALSE(make_table(history_, names_, state_).libraries);
}

TEST_F(Tables, SumModules) {
  state_.grouping = Grouping::kModules;
  const Table table = make_table(history_, names_, state_);
  ASSERT_EQ(table.names, std::vector<std::string>{"/usr/bin/gate"});
  const TableRow row = row_of(history_, table, state_, 1);
  EXPECT_EQ(row.of(Figure::kStacks), 4);
  EXPECT_EQ(row.of(Figure::kLive), 1'460'000 + 900'000 + (1 << 20));
  EXPECT_EQ(row.of(Figure::kGrowth), 60'000);
  EXPECT_EQ(row.of(Figure::kAge), (4000 * 41e9 + 4000 * 16e9 + 60.9e9) / 8001);
}

TEST_F(Tables, ListThreads) {
  state_.grouping = Grouping::kThreads;
  EXPECT_EQ(keys(), (Keys{1, 2}));
  sort_by(Figure::kAllocations);
  state_.reversed = true;
  EXPECT_EQ(keys(), (Keys{2, 1}));
}

TEST_F(Tables, FollowTheSelectedRow) {
  Table table = make_table(history_, names_, state_);
  state_.cursor = 2;
  state_ = settled(state_, table, 10);
  EXPECT_EQ(state_.followed, 2u);
  sort_by(Figure::kGrowth);
  table = make_table(history_, names_, state_);
  EXPECT_EQ(settled(state_, table, 10).cursor, 0u);
}

TEST_F(Tables, KeepTheCursorInSight) {
  const Table table = make_table(history_, names_, state_);
  state_.cursor = 99;
  state_ = settled(state_, table, 2);
  EXPECT_EQ(state_.cursor, 3u);
  EXPECT_EQ(state_.first, 2u);
  state_.cursor = 0;
  state_.followed = 0;
  EXPECT_EQ(settled(state_, table, 2).first, 0u);
  EXPECT_EQ(settled(state_, {}, 2).cursor, 0u);
  EXPECT_EQ(settled(state_, table, 0).cursor, 0u);
}

TEST(NameBooks, AreBounded) {
  NameBook names;
  for (uint64_t id = 1; id <= NameBook::kMaxNames + 5; ++id) {
    NamedStack stack;
    stack.id = id;
    names.add({stack});
  }
  EXPECT_EQ(names.find(5), nullptr);
  EXPECT_NE(names.find(6), nullptr);
  EXPECT_TRUE(names.is_full());
}

}  // namespace
}  // namespace heaptap::top
