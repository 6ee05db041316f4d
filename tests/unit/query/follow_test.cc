// A trace that is followed while it is written, and the same file read from its beginning: both tell the same at the same
// moment.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "analysis/query/analyze.h"
#include "analysis/report/view.h"
#include "common/base/unique_fd.h"
#include "event_script.h"
#include "heap_graph.h"
#include "record/trace/trace_lock.h"
#include "record/trace/trace_reader.h"
#include "record/trace/trace_writer.h"
#include "views/json/render_json.h"
#include "views/text/render_text.h"

namespace heaptap::query {
namespace {

using wire::Function;

constexpr uint64_t kResolutionNs = 1000;
constexpr std::array kViews = {report::View::kSummary,  report::View::kTop,    report::View::kTree,
                               report::View::kStats,    report::View::kSizes,  report::View::kLifetimes,
                               report::View::kTimeline, report::View::kBlocks, report::View::kLeaks};

class FollowTest : public testing::Test {
 protected:
  FollowTest() {
    std::filesystem::remove(path_);
    writer_ = *trace::TraceWriter::create(path_, true);
    EXPECT_TRUE(writer_->begin(capture()));
    live_.emplace(*trace::TraceReader::open(path_));
    for (uint32_t thread = 1; thread <= 3; ++thread) script_.tables.threads.push_back({thread, 100 + thread, "worker"});
    script_.tables.modules.push_back({.path = "/bin/app", .build_id = "", .bias = 0, .start = 0, .end = 0x1000});
  }
  ~FollowTest() override { std::filesystem::remove(path_); }

  static model::Capture capture() {
    model::Capture capture{};
    capture.command = {"./app"};
    capture.time_resolution_ns = kResolutionNs;
    capture.via = "agent";
    return capture;
  }

  static bool read_file(const std::string& path, std::string& bytes) {
    std::ifstream file(path, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
    return file.good();
  }

  void happen(unsigned events) {
    const model::EventBatch batch = batch_of(events);
    EXPECT_TRUE(writer_->write(batch, script_.tables));
  }

  model::EventBatch batch_of(unsigned events) {
    script_.at(time_ns_ += 5 * kResolutionNs);
    for (unsigned i = 0; i < events; ++i) {
      if (pick(30) == 0) script_.at(time_ns_ += pick(90) * kResolutionNs);
      happen();
    }
    return script_.take();
  }

  void count(const Query& query) { analysis_.emplace(*live_, query); }
  void follow() { EXPECT_TRUE(live_->follow(*analysis_, {.addresses = true})); }

  void happen() {
    const auto thread = static_cast<uint32_t>(1 + pick(3));
    switch (pick(12)) {
      case 0:
        script_.map(0x7f0000000000 + pick(50) * 4096, 4096 * (1 + pick(4)), thread);
        break;
      case 1:
        script_.unmap(0x7f0000000000 + pick(50) * 4096, 4096, thread);
        break;
      case 2:
        script_.bad_release(static_cast<model::BadReleaseKind>(pick(4)), 0x123400 + pick(8), thread);
        break;
      case 3:
      case 4:
      case 5:
      case 6:
        if (!live_blocks_.empty()) release(thread);
        break;
      default:
        live_blocks_.push_back(script_.allocate(pick(9000), thread, pick(2) == 0 ? Function::kMalloc : Function::kNew,
                                                script_.stack({0x10 + pick(6), 0x20 + pick(3)})));
        break;
    }
  }

  void release(uint32_t thread) {
    std::swap(live_blocks_[pick(live_blocks_.size())], live_blocks_.back());
    script_.release(live_blocks_.back(), thread, pick(20) == 0 ? Function::kDelete : Function::kFree);
    live_blocks_.pop_back();
  }

  void look() {
    model::HeapScan scan = test::make_scan(6, {{0, 1}, {1, 2}, {4, 5}}, {{0}, {3}});
    scan.number = ++scans_;
    scan.time_ns = time_ns_;
    for (model::ScannedBlock& block : scan.blocks) block.number = live_blocks_[block.number];
    EXPECT_TRUE(writer_->write_scan(scan, script_.tables));
  }

  std::vector<std::string> views(base::Result<report::Report> made) {
    std::vector<std::string> texts;
    EXPECT_TRUE(made.has_value()) << made.error().message;
    if (!made) return texts;
    for (const report::View view : kViews) {
      texts.push_back(json::render_json(*made, view));
      texts.push_back(text::render_text(*made, view, {}));
    }
    return texts;
  }

  // The file as it is now.
  void expect_same(const Query& query) {
    auto file = trace::TraceReader::open(path_);
    ASSERT_TRUE(file.has_value());
    const std::vector<std::string> expected = views(analyze(*file, query));
    ASSERT_FALSE(expected.empty());
    follow();
    EXPECT_EQ(views(analysis_->report(query)), expected);
    EXPECT_EQ(views(analysis_->glance(query)), expected);
    follow();  // nothing new
    EXPECT_EQ(views(analysis_->report(query)), expected);
    EXPECT_EQ(views(analysis_->glance(query)), expected);
  }

  uint64_t pick(uint64_t below) { return random_() % below; }

  test::EventScript script_;
  std::unique_ptr<trace::TraceWriter> writer_;
  std::optional<trace::TraceReader> live_;  // follows
  std::optional<Analysis> analysis_;        // fed by it
  std::mt19937_64 random_{7};
  std::vector<model::BlockNumber> live_blocks_;
  uint64_t time_ns_ = 0;
  uint32_t scans_ = 0;
  std::string path_ = testing::TempDir() + "follow_test." + std::to_string(getpid()) + ".htap";
};

TEST_F(FollowTest, AnUnfinishedViewIsThatOfAFileWhichEndsThere) {
  Query query{.listing = {.blocks = true, .errors = true}};
  count(query);
  for (unsigned round = 0; round < 6; ++round) {
    for (unsigned batch = 0; batch < 5; ++batch) {
      happen(1 + static_cast<unsigned>(pick(400)));
      if (pick(2) == 0) follow();
    }
    expect_same(query);
  }
  model::Capture end = capture();
  end.ended = true;
  end.exit.code = 3;
  end.duration_ns = time_ns_ + 1;
  EXPECT_TRUE(writer_->finish(end, script_.tables));
  expect_same(query);
}

TEST_F(FollowTest, FiltersHoldForWhatComes) {
  Query query{.filter = {.thread = 2},
              .window = {.span = {.first = {.time_ns = 200'000}, .last = {.time_ns = 900'000}}}};
  count(query);
  for (unsigned round = 0; round < 6; ++round) {
    happen(300);
    expect_same(query);
  }
}

TEST_F(FollowTest, ScansAreThereOnceTheyAreMade) {
  count(Query{});
  happen(500);
  expect_same({});
  look();
  expect_same({});
  happen(500);
  look();
  expect_same({});
  EXPECT_EQ(live_->scans().size(), 2u);
}

// What was counted for all that a view may ask for answers those that ask for less.
TEST_F(FollowTest, OneLedgerAnswersViewsThatAskForLess) {
  count({.listing = {.blocks = true, .errors = true}});
  for (unsigned round = 0; round < 3; ++round) {
    happen(400);
    look();
    expect_same({.listing = {.blocks = true}});
    expect_same({.listing = {.sort = SortKey::kTotal, .limit = 3, .frames = {.depth = 2}}});
    expect_same({.listing = {.errors = true}, .counting = {.statistics = false}});
    expect_same({.listing = {.leaks_only = true}, .leaks = {.scan = round + 1}});
    expect_same({.leaks = {.options = {.roots = 1}}});
  }
  EXPECT_FALSE(analysis_->can_answer({.filter = {.thread = 2}}));
  EXPECT_FALSE(analysis_->can_answer({.window = {.span = {.first = {.time_ns = 1}}}}));
  EXPECT_FALSE(analysis_->can_answer({.counting = {.activity = true}}));
}

// Each later one stands in the place of the one before.
TEST_F(FollowTest, TotalsAreGivenAsTheyChange) {
  struct Sink : model::EventSink {
    void on_batch(const model::EventBatch& /*batch*/, const model::Tables& /*tables*/) override {}
    void on_totals(const model::Totals& totals, const model::Tables& /*tables*/) override {
      peaks.push_back(totals.peak_bytes);
    }
    std::vector<uint64_t> peaks;
  } sink;
  const model::SiteId site = script_.site(model::EventKind::kAllocate, Function::kMalloc, script_.stack({0x10}));
  for (uint64_t round = 1; round < 6; ++round) {
    model::Totals totals;
    totals.peak_bytes = 1000 * round;
    totals.sites.push_back({.site = site, .thread = 1, .allocations = 10 * round, .allocated_bytes = 1000 * round});
    EXPECT_TRUE(writer_->write_totals(totals, script_.tables));
    if (round % 2 == 0) happen(10);  // these stay
    EXPECT_TRUE(live_->follow(sink, {}));
    EXPECT_TRUE(live_->follow(sink, {}));
    ASSERT_EQ(sink.peaks.size(), round);
    EXPECT_EQ(sink.peaks.back(), 1000 * round);
  }
  EXPECT_FALSE(live_->capture().truncated && !live_->capture().running) << live_->capture().damage;
}

TEST_F(FollowTest, MarksAreThereWithTheirPlaces) {
  count({});
  std::vector<model::Mark> expected;
  for (unsigned round = 0; round < 20; ++round) {
    const model::EventBatch batch = batch_of(40);
    writer_->add(batch, script_.tables);
    model::Mark mark{.name = "round " + std::to_string(round), .time_ns = time_ns_, .thread = round % 3};
    if (pick(3) != 0) expected.push_back(writer_->add_mark(mark));
    if (pick(2) == 0) {
      EXPECT_TRUE(writer_->flush(script_.tables));
      follow();
      EXPECT_EQ(live_->marks(), expected);
    }
  }
  EXPECT_TRUE(writer_->flush(script_.tables));
  const auto file = trace::TraceReader::open(path_);
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ(file->marks(), expected);
  ASSERT_GT(expected.size(), 3u);
  EXPECT_EQ(expected[1].number, 2u);
  EXPECT_GT(expected.back().events_before, expected.front().events_before);
}

// However much of it is there: what isn't whole is waited for, and is no damage as long as somebody writes.
TEST_F(FollowTest, APartOfAFrameIsWaitedFor) {
  for (unsigned batch = 0; batch < 6; ++batch) happen(200);
  look();
  happen(100);
  std::string bytes;
  ASSERT_TRUE(read_file(path_, bytes));
  const std::string part = path_ + ".part";
  const base::UniqueFd file(open(part.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  trace::hold_as_writer(file.get());
  constexpr size_t kHead = 16;
  size_t written = kHead + 120;
  ASSERT_EQ(pwrite(file.get(), bytes.data(), written, 0), static_cast<ssize_t>(written));
  live_.emplace(*trace::TraceReader::open(part));
  count({.listing = {.blocks = true}});
  while (written < bytes.size()) {
    const size_t more = std::min<size_t>(1 + pick(700), bytes.size() - written);
    ASSERT_EQ(pwrite(file.get(), bytes.data() + written, more, static_cast<off_t>(written)),
              static_cast<ssize_t>(more));
    written += more;
    follow();
    ASSERT_TRUE(live_->capture().running) << live_->capture().damage;
    ASSERT_TRUE(live_->scan_notes().empty());
    ASSERT_LE(live_->followed_bytes(), written);
  }
  EXPECT_EQ(live_->followed_bytes(), bytes.size());
  auto whole = trace::TraceReader::open(path_);
  ASSERT_TRUE(whole.has_value());
  EXPECT_EQ(views(analysis_->report()), views(analyze(*whole, {.listing = {.blocks = true}})));
  std::filesystem::remove(part);
}

// Where the file's system has no locks, who is connected to the writer knows that it lives.
TEST_F(FollowTest, WithoutALockAPartIsWaitedForAsLongAsTheWriterLives) {
  happen(200);
  happen(200);
  std::string bytes;
  ASSERT_TRUE(read_file(path_, bytes));
  writer_.reset();
  const std::string part = path_ + ".part";
  std::ofstream(part, std::ios::binary) << bytes.substr(0, bytes.size() - 1);
  live_.emplace(*trace::TraceReader::open(part));
  count({});
  bool lives = true;
  const auto follow_part = [&] {
    EXPECT_TRUE(live_->follow(*analysis_, {.addresses = true, .writer_lives = [&lives] { return lives; }}));
  };
  follow_part();
  EXPECT_TRUE(live_->capture().running) << live_->capture().damage;
  std::ofstream(part, std::ios::binary | std::ios::app) << bytes.back();
  follow_part();
  EXPECT_EQ(live_->followed_bytes(), bytes.size());
  EXPECT_TRUE(live_->capture().running);
  auto whole = trace::TraceReader::open(path_);
  ASSERT_TRUE(whole.has_value());
  EXPECT_EQ(live_->tables().sites.size(), [&] {
    struct Nothing : model::EventSink {
      void on_batch(const model::EventBatch& /*batch*/, const model::Tables& /*tables*/) override {}
    } nothing;
    EXPECT_TRUE(whole->replay(nothing));
    return whole->tables().sites.size();
  }());
  // Without it what is missing is a cut.
  lives = false;
  std::filesystem::resize_file(part, bytes.size() - 1);
  live_.emplace(*trace::TraceReader::open(part));
  count({});
  follow_part();
  EXPECT_TRUE(live_->capture().truncated);
  EXPECT_FALSE(live_->capture().running);
  std::filesystem::remove(part);
}

// Of the programs that a process ran before this one.
TEST_F(FollowTest, NumbersOfMarksGoOnBehindEarlierOnes) {
  writer_->begin_behind(
      {{.number = 4, .name = "warm", .time_ns = 5, .events_before = 99}, {.number = 7, .name = "hot"}});
  EXPECT_EQ(writer_->add_mark({.name = "here"}).number, 8u);
  happen(100);
  EXPECT_TRUE(writer_->flush(script_.tables));
  const auto file = trace::TraceReader::open(path_);
  ASSERT_TRUE(file.has_value());
  ASSERT_EQ(file->marks().size(), 3u);
  EXPECT_EQ(file->marks()[0], (model::Mark{.number = 4, .kind = model::MarkKind::kEarlier, .name = "warm"}));
  EXPECT_EQ(file->marks()[1].number, 7u);
  EXPECT_EQ(file->marks()[2].kind, model::MarkKind::kNamed);
}

// A writer that died in the middle of a frame.
TEST_F(FollowTest, APartThatNobodyWritesOnIsACut) {
  happen(200);
  happen(200);
  count({});
  follow();
  writer_.reset();
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 1);
  live_.emplace(*trace::TraceReader::open(path_));
  count({});
  follow();
  EXPECT_TRUE(live_->capture().truncated);
  EXPECT_FALSE(live_->capture().running);
  auto file = trace::TraceReader::open(path_);
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ(views(analysis_->report()), views(analyze(*file, {})));
}

// One that overwrites what was there: what was read stays as it was.
TEST_F(FollowTest, DamageIsToldAndWhatIsBehindItRead) {
  for (unsigned batch = 0; batch < 4; ++batch) happen(200);
  std::string bytes;
  ASSERT_TRUE(read_file(path_, bytes));
  bytes[bytes.size() / 2] = static_cast<char>(~bytes[bytes.size() / 2]);
  const std::string damaged = path_ + ".damaged";
  std::ofstream(damaged, std::ios::binary) << bytes;
  live_.emplace(*trace::TraceReader::open(damaged));
  count({});
  follow();
  auto file = trace::TraceReader::open(damaged);
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ(views(analysis_->report()), views(analyze(*file, {})));
  EXPECT_TRUE(live_->capture().truncated);
  std::filesystem::remove(damaged);
}

}  // namespace
}  // namespace heaptap::query
