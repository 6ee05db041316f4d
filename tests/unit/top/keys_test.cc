#include "views/top/keys.h"

#include <gtest/gtest.h>

#include "views/top/key_help.h"

namespace heaptap::top {
namespace {

Key character(const std::string& text) { return {.character = text}; }

class Keys : public testing::Test {
 protected:
  void SetUp() override {
    for (uint64_t key = 101; key <= 140; ++key) table_.order.push_back({0, key});
    places_ = {
        .head_line = 5, .first_row = 6, .row_count = 10, .columns = {{Figure::kLive, 0, 7}, {Figure::kGrowth, 7, 15}}};
  }
  Wish press(const Key& key) {
    Step step = top::press(state_, key, {.table = table_, .places = places_, .page_rows = 10, .has_leaks = false});
    state_ = std::move(step.state);
    return step.wish;
  }
  Wish press(Key::Kind kind) { return press(Key{.kind = kind}); }
  void type(std::string_view text) {
    for (const char letter : text) (void)press(character(std::string(1, letter)));
  }

  State state_;
  Table table_;
  Places places_;
};

TEST_F(Keys, ThatNeedTheRecordingAreWishes) {
  EXPECT_EQ(press(character("q")).kind, Wish::Kind::kQuit);
  EXPECT_EQ(press(character("s")).kind, Wish::Kind::kScan);
  EXPECT_EQ(press(Key::Kind::kTab).kind, Wish::Kind::kNextProcess);
  EXPECT_EQ(press(character("i")).kind, Wish::Kind::kNextImage);
  EXPECT_EQ(press(character("x")), Wish{});
  EXPECT_EQ(state_, State{});
}

TEST_F(Keys, ListStacksOfSystemLibrariesAndSumThemUpAgain) {
  table_.order.back().key = kLibrariesKey;
  (void)press(Key::Kind::kEnd);
  EXPECT_EQ(press(Key::Kind::kEnter), Wish{});
  EXPECT_EQ(state_.mode, Mode::kRows);
  EXPECT_FALSE(state_.sums_up_libraries);
  EXPECT_EQ(state_.cursor, 0u);
  (void)press(Key::Kind::kEscape);
  EXPECT_EQ(state_, State{});
}

// In the rows, whatever they are.
bool does_something(const std::string& letter, const Table& table) {
  const Places places;
  bool found = false;
  for (const Grouping grouping : {Grouping::kStacks, Grouping::kThreads}) {
    State before;
    before.grouping = grouping;
    before.sorts = {Figure::kBlocks, Figure::kBlocks, Figure::kBlocks};
    const Seen seen{.table = table, .places = places, .page_rows = 10, .has_leaks = false};
    const Step step = top::press(before, character(letter), seen);
    found = found || step.wish != Wish{} || step.state != before;
  }
  return found;
}

TEST_F(Keys, OfOneCharacterThatDoSomethingAreInTheHelp) {
  std::string keys = " ";
  for (const KeyHelp& key : kKeyHelp) keys += std::string(key.keys) + " ";
  for (char letter = ' ' + 1; letter < 127; ++letter) {
    const std::string word(1, letter);
    EXPECT_EQ(keys.find(" " + word + " ") != std::string::npos, does_something(word, table_)) << word;
  }
}

TEST_F(Keys, MoveTheCursorWithinTheRows) {
  struct Case {
    Key::Kind key;
    size_t cursor;
  };
  for (const auto& [key, cursor] : {Case{Key::Kind::kUp, 0}, Case{Key::Kind::kDown, 1}, Case{Key::Kind::kPageDown, 11},
                                    Case{Key::Kind::kEnd, 39}, Case{Key::Kind::kDown, 39}, Case{Key::Kind::kPageUp, 29},
                                    Case{Key::Kind::kHome, 0}, Case{Key::Kind::kPageUp, 0}}) {
    (void)press(key);
    EXPECT_EQ(state_.cursor, cursor);
  }
}

TEST_F(Keys, ChangeTheSortToTheColumnBeside) {
  (void)press(character("<"));
  EXPECT_EQ(state_.sort(), Figure::kLive);
  (void)press(character(">"));
  (void)press(character(">"));
  EXPECT_EQ(state_.sort(), Figure::kGrowth);
  (void)press(character("r"));
  EXPECT_TRUE(state_.reversed);
  (void)press(character("<"));
  EXPECT_EQ(state_.sort(), Figure::kBlocks);
  EXPECT_FALSE(state_.reversed);
}

TEST_F(Keys, FilterWhileTheyAreTyped) {
  (void)press(character("/"));
  type("qp");
  EXPECT_EQ(state_.filter, "qp");
  EXPECT_FALSE(state_.frozen);
  (void)press(character("目"));
  (void)press(Key::Kind::kBackspace);
  EXPECT_EQ(state_.filter, "qp");
  (void)press(Key::Kind::kEnter);
  EXPECT_EQ(state_.mode, Mode::kRows);
  EXPECT_EQ(state_.filter, "qp");
  (void)press(character("/"));
  type("x");
  (void)press(Key::Kind::kEscape);
  EXPECT_EQ(state_.filter, "qp") << "Esc gives back what was there";
  (void)press(Key::Kind::kEscape);
  EXPECT_EQ(state_.filter, "");
}

TEST_F(Keys, AskForTheNameOfAMark) {
  (void)press(character("m"));
  EXPECT_EQ(press(Key::Kind::kEnter), Wish{}) << "without a name";
  (void)press(character("m"));
  type("after load");
  EXPECT_EQ(press(Key::Kind::kEnter), (Wish{.kind = Wish::Kind::kMark, .text = "after load"}));
  (void)press(character("m"));
  type("x");
  EXPECT_EQ(press(Key::Kind::kEscape), Wish{});
  EXPECT_EQ(state_.mode, Mode::kRows);
}

TEST_F(Keys, TakeOnlySoMuchText) {
  (void)press(character("m"));
  for (int i = 0; i < 1000; ++i) type("x");
  EXPECT_EQ(state_.input.size(), 200u);
}

TEST_F(Keys, OpenAStackAndGoBack) {
  (void)press(Key::Kind::kDown);
  EXPECT_EQ(press(Key::Kind::kEnter), (Wish{.kind = Wish::Kind::kOpen, .id = 102}));
  EXPECT_EQ(state_.mode, Mode::kStack);
  (void)press(Key::Kind::kDown);
  EXPECT_EQ(state_.scrolled, 1u);
  EXPECT_EQ(state_.cursor, 1u);
  (void)press(Key::Kind::kEscape);
  EXPECT_EQ(state_.mode, Mode::kRows);
  table_.order.clear();
  EXPECT_EQ(press(Key::Kind::kEnter), Wish{}) << "there is none";
}

TEST_F(Keys, ChangeTheGrouping) {
  (void)press(Key::Kind::kDown);
  EXPECT_EQ(press(character("t")).kind, Wish::Kind::kRows);
  EXPECT_EQ(state_.grouping, Grouping::kThreads);
  EXPECT_EQ(state_.cursor, 0u);
  EXPECT_EQ(press(Key::Kind::kEnter), Wish{}) << "a thread has no page";
  (void)press(character("o"));
  EXPECT_EQ(state_.grouping, Grouping::kModules);
  (void)press(character("k"));
  EXPECT_EQ(state_.grouping, Grouping::kStacks);
}

TEST_F(Keys, ClicksSelectOpenAndSort) {
  state_.first = 4;
  (void)press({.kind = Key::Kind::kClick, .x = 3, .y = 8});
  EXPECT_EQ(state_.cursor, 6u);
  EXPECT_EQ(press({.kind = Key::Kind::kClick, .x = 3, .y = 8}).kind, Wish::Kind::kOpen) << "once more";
  (void)press(Key::Kind::kEscape);
  (void)press({.kind = Key::Kind::kClick, .x = 8, .y = 5});
  EXPECT_EQ(state_.sort(), Figure::kGrowth);
  EXPECT_FALSE(state_.reversed);
  (void)press({.kind = Key::Kind::kClick, .x = 8, .y = 5});
  EXPECT_TRUE(state_.reversed);
  const State before = state_;
  (void)press({.kind = Key::Kind::kClick, .x = 300, .y = 300});
  EXPECT_EQ(state_, before);
}

TEST_F(Keys, TheWheelScrollsAndTakesTheCursorAlong) {
  (void)press(Key::Kind::kWheelDown);
  EXPECT_EQ(state_.first, 3u);
  EXPECT_EQ(state_.cursor, 3u);
  for (int i = 0; i < 50; ++i) (void)press(Key::Kind::kWheelDown);
  EXPECT_EQ(state_.first, 30u);
  for (int i = 0; i < 50; ++i) (void)press(Key::Kind::kWheelUp);
  EXPECT_EQ(state_.first, 0u);
}

TEST_F(Keys, FreezeAndHelp) {
  (void)press(character("p"));
  EXPECT_TRUE(state_.frozen);
  (void)press(character("p"));
  EXPECT_FALSE(state_.frozen);
  (void)press(character("?"));
  EXPECT_EQ(state_.mode, Mode::kHelp);
}

TEST_F(Keys, QLeavesTheHelpAndNotTop) {
  (void)press(character("h"));
  EXPECT_EQ(press(character("q")).kind, Wish::Kind::kNothing);
  EXPECT_EQ(state_.mode, Mode::kRows);
  EXPECT_EQ(press(character("q")).kind, Wish::Kind::kQuit);
}

}  // namespace
}  // namespace heaptap::top
