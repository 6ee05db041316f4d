// A recording that goes on, and the file that is written from it: both tell the same at the same moment.
#include "model/live_source.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "analysis/analyze.h"
#include "event_script.h"
#include "heap_graph.h"
#include "report/render.h"
#include "trace/trace_reader.h"
#include "trace/trace_writer.h"

namespace heaptap::analysis {
namespace {

using wire::Function;

constexpr uint64_t kResolutionNs = 1000;
constexpr std::array kViews = {report::View::kSummary,  report::View::kTop,    report::View::kTree,
                               report::View::kStats,    report::View::kSizes,  report::View::kLifetimes,
                               report::View::kTimeline, report::View::kBlocks, report::View::kLeaks};

// Writes the same batches into a file and into a live source.
class LiveSourceTest : public testing::Test {
 protected:
  LiveSourceTest() : live_(capture()) {
    std::filesystem::remove(path_);
    writer_ = *trace::TraceWriter::create(path_, true);
    EXPECT_TRUE(writer_->begin(capture()));
    for (uint32_t thread = 1; thread <= 3; ++thread) script_.tables.threads.push_back({thread, 100 + thread, "worker"});
    script_.tables.modules.push_back({.path = "/bin/app", .build_id = "", .bias = 0, .start = 0, .end = 0x1000});
  }
  ~LiveSourceTest() override { std::filesystem::remove(path_); }

  static model::Capture capture() {
    model::Capture capture{};
    capture.command = {"./app"};
    capture.time_resolution_ns = kResolutionNs;
    capture.via = "agent";
    return capture;
  }

  void happen(unsigned events) {
    script_.at(time_ns_ += 5 * kResolutionNs);
    for (unsigned i = 0; i < events; ++i) {
      if (pick(30) == 0) script_.at(time_ns_ += pick(90) * kResolutionNs);
      happen();
    }
    const model::EventBatch batch = script_.take();
    EXPECT_TRUE(writer_->write(batch, script_.tables));
    live_.on_batch(batch, script_.tables);
    if (analysis_) analysis_->on_batch(batch, script_.tables);
  }

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
    live_.add_scan(scan, script_.tables);
  }

  std::vector<std::string> views(base::Result<report::Report> made) {
    std::vector<std::string> texts;
    EXPECT_TRUE(made.has_value()) << made.error().message;
    if (!made) return texts;
    // What only a file has.
    made->capture.trace_bytes = 0;
    made->capture.damage.clear();
    made->leaks.scan.stored_bytes = 0;
    for (const report::View view : kViews) {
      texts.push_back(report::render_json(*made, view, {}));
      texts.push_back(report::render_text(*made, view, {}));
    }
    return texts;
  }

  // The file as it is now.
  void expect_same(const Query& query) {
    auto file = trace::TraceReader::open(path_);
    ASSERT_TRUE(file.has_value());
    const std::vector<std::string> expected = views(analyze(*file, query));
    EXPECT_EQ(views(analyze(live_, query)), expected) << "replayed";
    if (analysis_) {
      EXPECT_EQ(views(analysis_->report()), expected) << "as it came";
    }
    ASSERT_FALSE(expected.empty());
  }

  uint64_t pick(uint64_t below) { return random_() % below; }

  test::EventScript script_;
  model::LiveSource live_;
  std::optional<Analysis> analysis_;  // fed with what happens
  std::unique_ptr<trace::TraceWriter> writer_;
  std::mt19937_64 random_{7};
  std::vector<model::BlockNumber> live_blocks_;
  uint64_t time_ns_ = 0;
  uint32_t scans_ = 0;
  std::string path_ = testing::TempDir() + "live_source_test." + std::to_string(getpid()) + ".htap";
};

TEST_F(LiveSourceTest, AnUnfinishedViewIsThatOfAFileWhichEndsThere) {
  Query query{.blocks = true, .errors = true};
  analysis_.emplace(live_, query);
  for (unsigned round = 0; round < 6; ++round) {
    for (unsigned batch = 0; batch < 5; ++batch) happen(1 + static_cast<unsigned>(pick(400)));
    expect_same(query);
  }
  model::Capture end = capture();
  end.ended = true;
  end.exit.code = 3;
  end.duration_ns = time_ns_ + 1;
  EXPECT_TRUE(writer_->finish(end, script_.tables));
  live_.set_capture(end);
  expect_same(query);
}

TEST_F(LiveSourceTest, FiltersHoldForWhatComes) {
  Query query{.thread = 2, .from_ns = 200'000, .to_ns = 900'000};
  analysis_.emplace(live_, query);
  for (unsigned round = 0; round < 6; ++round) {
    happen(300);
    expect_same(query);
  }
}

TEST_F(LiveSourceTest, ScansAreThereOnceTheyAreMade) {
  analysis_.emplace(live_, Query{});
  happen(500);
  expect_same({});
  look();
  expect_same({});
  happen(500);
  look();
  expect_same({});
  EXPECT_EQ(live_.scans().size(), 2u);
}

TEST_F(LiveSourceTest, TheLastTotalsHold) {
  const model::SiteId site = script_.site(model::EventKind::kAllocate, Function::kMalloc, script_.stack({0x10}));
  analysis_.emplace(live_, Query{});
  for (uint64_t round = 1; round < 4; ++round) {
    model::Totals totals;
    totals.peak_bytes = 1000 * round;
    totals.peak_blocks = 10 * round;
    totals.sites.push_back({.site = site, .thread = 1, .allocations = 10 * round, .allocated_bytes = 1000 * round});
    totals.live_sizes.push_back({100, 10 * round});
    EXPECT_TRUE(writer_->write_totals(totals, script_.tables));
    live_.on_totals(totals, script_.tables);
    analysis_->on_totals(totals, script_.tables);
    expect_same({});
  }
}

}  // namespace
}  // namespace heaptap::analysis
