#include "views/top/picture.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "analysis/findings/function_name.h"
#include "made_up_recording.h"
#include "views/top/draw.h"
#include "views/top/take_sample.h"

namespace heaptap::top {
namespace {

// HEAPTAP_UPDATE_GOLDEN=1 writes them anew.
void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(HEAPTAP_GOLDEN_DIRECTORY) + "/top_" + name + ".txt";
  if (std::getenv("HEAPTAP_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::stringstream expected;
  expected << std::ifstream(path).rdbuf();
  EXPECT_EQ(text, expected.str()) << path;
}

class Pictures : public testing::Test {
 protected:
  void SetUp() override { test::make_gate(recording_); }

  void sample() {
    auto taken = take_sample(recording_, {.first_names = 100, .threads = true}, {});
    ASSERT_TRUE(taken.has_value());
    names_.add(taken->named);
    history_.add(std::make_shared<const Sample>(*std::move(taken)));
  }
  void sample_seconds(int seconds) {
    for (int i = 0; i < seconds; ++i) {
      if (i > 0) test::go_on(recording_);
      sample();
    }
  }
  Grid drawn(size_t width, size_t height, bool ascii = false) {
    const Layout layout = layout_of(width, height);
    const Table table = make_table(history_, names_, state_);
    state_ = settled(state_, table, layout.page_rows());
    const Picture picture = make_picture({.history = history_,
                                          .names = names_,
                                          .table = table,
                                          .state = state_,
                                          .page = page_,
                                          .message = message_,
                                          .is_trouble = false,
                                          .has_ended = false},
                                         layout);
    return draw(picture, layout, ascii).grid;
  }
  std::string text(size_t width, size_t height) { return drawn(width, height).text(false); }
  // What has no UTF-8 characters but those of its own, and no control characters; every line fits.
  void expect_sound(size_t width, size_t height) {
    const Grid grid = drawn(width, height);
    for (size_t y = 0; y < grid.height(); ++y) {
      const std::string line = grid.line(y);
      EXPECT_LE(findings::shown_width(line), width) << line;
      for (const char letter : line) EXPECT_TRUE(static_cast<unsigned char>(letter) >= 0x20 && letter != 0x7f) << line;
    }
  }

  test::MadeUpRecording recording_;
  History history_;
  NameBook names_;
  State state_;
  const StackPage* page_ = nullptr;
  std::string message_;
};

TEST_F(Pictures, OfEightyColumns) {
  sample_seconds(5);
  expect_golden("80x24", text(80, 24));
}

TEST_F(Pictures, OfTwoHundredColumns) {
  recording_.now.lost_events = 12'345;
  recording_.fresh = {.read_bytes = 100, .written_bytes = 5'000'000};
  recording_.all.push_back({.pid = 9, .program = "other"});
  sample_seconds(5);
  history_.set_base("after load");
  recording_.scans = 1;
  auto leaks = take_leaks(recording_, 7731);
  ASSERT_TRUE(leaks.has_value());
  history_.add_leaks(*std::move(leaks));
  test::go_on(recording_);
  sample();
  state_.sorts[0] = Figure::kGrowth;
  state_.cursor = 1;
  expect_golden("200x60", text(200, 60));
}

TEST_F(Pictures, OfFortyColumns) {
  sample_seconds(3);
  expect_golden("40x10", text(40, 10));
}

TEST_F(Pictures, BeforeAnythingIsKnown) { expect_golden("nothing", text(80, 24)); }

TEST_F(Pictures, OfNoRows) {
  recording_.stacks.clear();
  recording_.totals = {};
  sample();
  expect_golden("no_rows", text(80, 24));
}

TEST_F(Pictures, OfNamesThatWereMadeToHarm) {
  const std::string hostile[] = {std::string(10'000, 'x'),
                                 "\x1b[2J\x1b[31mred\x07",
                                 "目录管理器::处理请求(字符串 const&)目录管理器目录管理器目录管理器",
                                 "line\nbreak\r\ttab",
                                 "\xff\xfe not UTF-8 \xc0\x80",
                                 "\u202egnp.exe\u202c",
                                 "",
                                 std::string("nul\0inside", 10)};
  for (const std::string& name : hostile) {
    recording_.stacks.push_back(
        {.function = name, .frames = {name, "main"}, .count = {.allocations = 1, .live_bytes = 5}});
  }
  recording_.all[0].program = "./\x1b]0;title\x07" + std::string(500, 'p');
  recording_.threads[0].name = "\x1b[2J";
  recording_.all_marks = {{.name = "\x1b[2J"}};
  sample_seconds(2);
  history_.set_base("\x1b[2Jbase");
  message_ = "\x1b[2Jmessage\n";
  for (const Grouping grouping : {Grouping::kStacks, Grouping::kThreads, Grouping::kModules}) {
    state_ = State{};
    state_.grouping = grouping;
    for (const auto& [width, height] : {std::pair{80, 24}, {200, 60}, {40, 10}})
      expect_sound(static_cast<size_t>(width), static_cast<size_t>(height));
  }
  state_ = State{};
  message_.clear();
  expect_golden("hostile_80x24", text(80, 24));
}

TEST_F(Pictures, OfNamesWithoutSourceLinesShowCallersBeforeOffsets) {
  recording_.stacks = {{.frames = {"_sdsnewlen", "createStringObject", "processMultibulkBuffer", "processCommand"},
                        .has_lines = false,
                        .count = {.allocations = 1, .live_blocks = 1, .live_bytes = 5}},
                       {.frames = {"", "serve"}, .has_lines = false, .count = {.allocations = 1}}};
  sample();
  const auto has = [this](size_t width, const char* name) {
    const std::string text = this->text(width, 24);
    EXPECT_NE(text.find(name), std::string::npos) << width << "\n" << text;
  };
  has(200,
      "#1 _sdsnewlen gate+0x12345678 < createStringObject gate+0x12345679 < processMultibulkBuffer gate+0x1234567a\n");
  has(150, "#1 _sdsnewlen < createStringObject < processMultibulkBuffer\n");
  has(80, "#1 _sdsnewlen < createStringObject\n");
  has(80, "#2 gate+0x1234567c < serve\n");
}

TEST_F(Pictures, SayHowFarTheReaderIsBehind) {
  const auto first_line = [this] { return drawn(100, 24).line(0); };
  recording_.fresh = {.read_bytes = 1000, .written_bytes = 1800};
  recording_.last_event_ns = 50'000'000'000;
  sample();
  EXPECT_EQ(first_line().find("behind"), std::string::npos) << "a frame has just been written";
  recording_.fresh = {.read_bytes = 1500, .written_bytes = 2600};
  recording_.last_event_ns = 50'100'000'000;
  test::go_on(recording_);
  sample();
  EXPECT_NE(first_line().find("  10.9s, 1.07KB behind  "), std::string::npos) << first_line();
  recording_.fresh = {.read_bytes = 2600, .written_bytes = 2600};
  recording_.last_event_ns.reset();
  test::go_on(recording_);
  sample();
  EXPECT_EQ(first_line().find("behind"), std::string::npos) << first_line();
}

TEST_F(Pictures, SayHowLongTheTracerPausedTheProgram) {
  recording_.now.time_ns = 60'000'000'000;
  recording_.now.paused_by_tracer_ns = 15'000'000'000;
  sample();
  EXPECT_NE(text(80, 24).find("paused 25%"), std::string::npos) << text(80, 24);
  expect_sound(40, 10);
}

TEST_F(Pictures, OfScansSayWhatIsKnown) {
  sample_seconds(1);
  const auto status_of_scan = [this] {
    recording_.scans = 1;
    auto leaks = take_leaks(recording_, 7731);
    EXPECT_TRUE(leaks.has_value());
    history_.add_leaks(*std::move(leaks));
    const std::string text = this->text(120, 24);
    const size_t begin = text.find("scan 1: ");
    return begin == std::string::npos ? text : text.substr(begin, text.find(" · peak", begin) - begin);
  };
  EXPECT_EQ(status_of_scan(), "scan 1: 781.2 KiB leaked in 4,000 blocks");
  recording_.known.saw_all = false;
  EXPECT_EQ(status_of_scan(), "scan 1: at least 781.2 KiB leaked in 4,000 blocks");
  for (auto& stack : recording_.stacks) stack.count.leaked_bytes = stack.count.leaked_blocks = 0;
  EXPECT_EQ(status_of_scan(), "scan 1: no leaks found, incomplete");
  recording_.known.saw_all = true;
  EXPECT_EQ(status_of_scan(), "scan 1: no leaks");
  recording_.possible = {.blocks = 67, .bytes = 2000};
  EXPECT_EQ(status_of_scan(), "scan 1: 67 blocks possibly leaked");
}

TEST_F(Pictures, OfHugeNumbers) {
  constexpr uint64_t kHuge = ~uint64_t{0};
  recording_.now = {.pid = 7731,
                    .time_ns = kHuge,
                    .lost_events = kHuge,
                    .log_used_bytes = kHuge,
                    .log_limit_bytes = 1,
                    .resident_bytes = kHuge};
  recording_.totals = {.allocations = kHuge,
                       .releases = kHuge,
                       .allocated_bytes = kHuge,
                       .live_blocks = kHuge,
                       .live_bytes = kHuge,
                       .peak_live_bytes = kHuge};
  recording_.stacks = {{.frames = {"huge"},
                        .count = {.allocations = kHuge,
                                  .releases = kHuge,
                                  .allocated_bytes = kHuge,
                                  .live_blocks = kHuge,
                                  .live_bytes = kHuge,
                                  .temporary_allocations = kHuge,
                                  .lifetime_ns = kHuge}}};
  sample();
  expect_golden("huge_80x24", text(80, 24));
  expect_sound(200, 60);
}

TEST_F(Pictures, OfEverySize) {
  sample_seconds(3);
  for (size_t width = 0; width < 90; ++width) {
    for (const size_t height : {0u, 1u, 2u, 3u, 4u, 5u, 7u, 9u, 13u, 24u}) expect_sound(width, height);
  }
}

TEST_F(Pictures, WithoutOtherCharactersThanAscii) {
  sample_seconds(5);
  const std::string text = drawn(80, 24, true).text(false);
  for (const char letter : text) EXPECT_LT(static_cast<unsigned char>(letter), 0x80) << text;
  EXPECT_NE(text.find("@@@"), std::string::npos) << text;
}

TEST_F(Pictures, OfAStack) {
  sample_seconds(3);
  const auto page = take_stack(recording_, 7731, 2, {}, 77);
  ASSERT_TRUE(page.has_value());
  page_ = &*page;
  state_.mode = Mode::kStack;
  state_.opened = 2;
  expect_golden("stack_80x24", text(80, 24));
}

TEST_F(Pictures, OfTheHelpFitTheScreen) {
  sample_seconds(1);
  state_.mode = Mode::kHelp;
  expect_golden("help_100x36", text(100, 36));
  expect_sound(40, 10);
}

TEST_F(Pictures, WithAFilterCountWhatItHides) {
  sample_seconds(2);
  state_.filter = "log_line";
  state_.mode = Mode::kFilter;
  const std::string text = this->text(80, 24);
  EXPECT_NE(text.find("1 stack "), std::string::npos) << text;
  EXPECT_NE(text.find("/log_line: 3 hidden"), std::string::npos) << text;
  EXPECT_NE(text.find("filter by function or module: log_line_"), std::string::npos) << text;
}

TEST_F(Pictures, SumUpMemoryOfSystemLibraries) {
  recording_.stacks.push_back(test::emergency_pool());
  sample_seconds(2);
  const std::string text = this->text(80, 24);
  EXPECT_NE(text.find("\n 5 stacks · "), std::string::npos) << text;
  EXPECT_NE(text.find(" 71.0K       1 "), std::string::npos) << text;
  EXPECT_NE(text.find("  (memory of system libraries)\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("call_init"), std::string::npos) << text;
}

TEST_F(Pictures, SayWhatIsNotKnown) {
  recording_.totals.set_live_unknown();
  recording_.totals.set_calls_unknown();
  recording_.totals.set_peak_unknown();
  recording_.totals.temporary_allocations.set_unknown();
  recording_.now.log_limit_bytes = 0;
  recording_.now.resident_bytes.reset();
  for (auto& stack : recording_.stacks) stack.count.set_live_unknown();
  sample_seconds(2);
  expect_golden("unknown_80x24", text(80, 24));
}

}  // namespace
}  // namespace heaptap::top
