// Pages with live blocks at a moment without a scan: which blocks have a place, and what they keep at most.
#include "analysis/query/moment_pages.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "analysis/query/analyze.h"
#include "event_script.h"
#include "memory_source.h"
#include "record/trace/trace_reader.h"
#include "record/trace/trace_writer.h"

namespace heaptap::query {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kHeap = 0x100000;

class MomentPages : public testing::Test {
 protected:
  MomentPages() {
    capture_.command = {"./app"};
    capture_.time_resolution_ns = 1000;
    capture_.via = "agent";
  }
  void TearDown() override { std::filesystem::remove(path_); }

  model::BlockNumber allocate(uint64_t address, uint64_t size_bytes, uint64_t code = 0x10) {
    auto& stack = stacks_[code];
    if (stack == 0) stack = script_.stack({code});
    const model::BlockNumber block = script_.allocate(size_bytes, 1, wire::Function::kMalloc, stack);
    script_.batch.events.back().address = address;
    return block;
  }
  void next_frame() {
    frames_.push_back(script_.take());
    if (frames_.back().time_marks.empty() || frames_.back().time_marks.front().first_event != 0)
      frames_.back().time_marks.insert(frames_.back().time_marks.begin(), {0, last_ns_});
    last_ns_ = frames_.back().time_marks.back().time_ns;
  }

  base::Result<report::Report> analyzed(const Query& query) {
    write();
    auto reader = trace::TraceReader::open(path_);
    if (!reader) return std::unexpected(reader.error());
    return analyze(*reader, query);
  }
  report::MomentPages pages_at(const std::string& moment, Query query = {}) {
    query.window.to = moment;
    query.leaks.fragmentation = FragmentationAt::kWindow;
    auto report = analyzed(query);
    EXPECT_TRUE(report.has_value()) << report.error().message;
    if (!report) return {};
    EXPECT_TRUE(report->moment_pages.has_value());
    frames_of_report_ = report->frames.all();
    return report->moment_pages.value_or(report::MomentPages{});
  }
  std::string error_at(const std::string& moment, Query query = {}) {
    query.window.to = moment;
    query.leaks.fragmentation = FragmentationAt::kWindow;
    const auto report = analyzed(query);
    return report ? "none" : report.error().message;
  }

  void write() {
    if (std::exchange(is_written_, true)) return;
    next_frame();
    auto writer = trace::TraceWriter::create(path_, true);
    ASSERT_TRUE(writer.has_value()) << writer.error().message;
    ASSERT_TRUE((*writer)->begin(capture_).has_value());
    script_.tables.threads.push_back({1, 101, "app"});
    for (const model::EventBatch& frame : frames_) {
      ASSERT_TRUE((*writer)->write(frame, script_.tables).has_value());
      for (const std::string& name : std::exchange(marks_, {}))
        (*writer)->add_mark({.number = 0, .name = name, .time_ns = frame.time_marks.back().time_ns});
    }
    capture_.ended = true;
    capture_.duration_ns = 9'000'000;
    capture_.exit.code = 0;
    ASSERT_TRUE((*writer)->finish(capture_, script_.tables).has_value());
  }

  model::Capture capture_{};
  test::EventScript script_;
  std::map<uint64_t, model::StackId> stacks_;
  std::vector<model::EventBatch> frames_;
  std::vector<std::string> marks_;  // after the first frame
  std::vector<model::Frame> frames_of_report_;
  uint64_t last_ns_ = 0;
  bool is_written_ = false;
  std::string path_ = testing::TempDir() + "moment_pages_test." + std::to_string(getpid()) + ".htap";
};

TEST_F(MomentPages, BlocksAtThePeakShareTheRestOfTheirPages) {
  const auto first = allocate(kHeap, 300, 0x10);
  const auto second = allocate(kHeap + 512, 100, 0x20);
  const auto large = allocate(kHeap + 8 * kPage + 96, 3 * kPage, 0x20);
  next_frame();
  for (const model::BlockNumber block : {first, second, large}) script_.release(block);
  const report::MomentPages pages = pages_at("peak");
  EXPECT_EQ(pages.at, report::MomentPages::At::kPeak);
  EXPECT_EQ(pages.placed.blocks, 3u);
  EXPECT_EQ(pages.placed.bytes, 400 + 3 * kPage);
  EXPECT_EQ(pages.unplaced.blocks, 0u);
  EXPECT_EQ(pages.pages, 5u);
  EXPECT_EQ(pages.rest_bytes, pages.pages * kPage - pages.placed.bytes);
  EXPECT_EQ(pages.keeps_at_most(), pages.rest_bytes);
  ASSERT_EQ(pages.stacks.size(), 2u);
  EXPECT_EQ(pages.stacks[0].kept_bytes, (kPage - 400) / 4 + kPage);
  EXPECT_EQ(pages.stacks[0].pages, 5u);
  EXPECT_EQ(pages.stacks[1].kept_bytes, (kPage - 400) * 3 / 4);
  EXPECT_EQ(pages.keeps_at_most(pages.stacks[1]), pages.stacks[1].kept_bytes);
}

// The trace has no addresses of blocks that are released within a frame.
TEST_F(MomentPages, BlocksWithoutAnAddressAreCountedAndBoundNothing) {
  allocate(kHeap, 100, 0x10);
  const auto lost = allocate(kHeap + kPage, 700, 0x10);
  const auto other = allocate(kHeap + 2 * kPage, 50, 0x20);
  script_.release(lost);
  script_.release(other);
  const report::MomentPages pages = pages_at("peak");
  EXPECT_EQ(pages.placed.blocks, 1u);
  EXPECT_EQ(pages.unplaced.blocks, 2u);
  EXPECT_EQ(pages.unplaced.bytes, 750u);
  EXPECT_EQ(pages.placed_keep_at_most(pages.rest_bytes), kPage - 100);
  EXPECT_EQ(pages.keeps_at_most(), std::nullopt);
  ASSERT_EQ(pages.stacks.size(), 2u);
  EXPECT_EQ(pages.stacks[0].unplaced.bytes, 700u);
  EXPECT_EQ(pages.keeps_at_most(pages.stacks[0]), std::nullopt);
  EXPECT_EQ(pages.stacks[1].live.blocks, 0u);
  EXPECT_EQ(pages.stacks[1].unplaced.blocks, 1u);
}

TEST_F(MomentPages, OfAPlaceOnlyWhatIsLiveThenCounts) {
  script_.at(1'000'000);
  const auto early = allocate(kHeap, 100);
  next_frame();
  marks_ = {"loaded"};
  script_.at(2'000'000);
  script_.release(early);
  allocate(kHeap + kPage, 200);
  for (const auto& [moment, at] :
       {std::pair("loaded", report::MomentPages::At::kMark), {"1ms", report::MomentPages::At::kTime}}) {
    const report::MomentPages pages = pages_at(moment);
    EXPECT_EQ(pages.at, at);
    EXPECT_EQ(pages.placed.bytes, 100u) << moment;
    EXPECT_EQ(pages.time_ns, 1'000'000u);
  }
  EXPECT_EQ(pages_at("2ms").placed.bytes, 200u);
  const report::MomentPages end = pages_at("end");
  EXPECT_EQ(end.at, report::MomentPages::At::kEnd);
  EXPECT_EQ(end.time_ns, 9'000'000u);
  EXPECT_EQ(end.placed.bytes, 200u);
}

TEST_F(MomentPages, FiltersChooseStacksAndNotPages) {
  allocate(kHeap, 300, 0x10);
  allocate(kHeap + 512, 100, 0x20);
  Query query;
  query.filter.function = "no_such_function";
  const report::MomentPages pages = pages_at("end", query);
  EXPECT_EQ(pages.placed.blocks, 2u);
  EXPECT_EQ(pages.stack_count, 0u);
}

TEST_F(MomentPages, AMarkOfThatNameIsNoPeak) {
  allocate(kHeap, 300);
  next_frame();
  marks_ = {"peak"};
  allocate(kHeap + kPage, 5000);
  EXPECT_EQ(pages_at("peak").placed.bytes, 300u);
}

TEST_F(MomentPages, OfAProcessThatWasAttachedToOlderBlocksAreUnknown) {
  capture_.from_start = false;
  allocate(kHeap, 300);
  const report::MomentPages pages = pages_at("end");
  EXPECT_FALSE(pages.knows_all_blocks);
  EXPECT_TRUE(pages.knows_all_releases);
  EXPECT_EQ(pages.keeps_at_most(), std::nullopt);
  EXPECT_EQ(pages.placed_keep_at_most(pages.rest_bytes), kPage - 300);
}

TEST_F(MomentPages, WhereEventsWereLostNothingIsBounded) {
  capture_.lost_events = 3;
  allocate(kHeap, 300);
  const report::MomentPages pages = pages_at("end");
  EXPECT_FALSE(pages.knows_all_releases);
  EXPECT_EQ(pages.placed_keep_at_most(pages.rest_bytes), std::nullopt);
}

TEST_F(MomentPages, MomentsThatDoNotExistAreRefused) {
  allocate(kHeap, 300);
  EXPECT_EQ(error_at("1m"), "--to 1m: the recording ends before, after 9.0 ms");
  EXPECT_TRUE(error_at("nowhere").starts_with("--to: 'nowhere' is not a time of the recording, and it has no marks"));
  Query query;
  query.window.from = "1ms";
  EXPECT_TRUE(error_at("end", query).starts_with("fragmentation: --from leaves out blocks"));
  query = {};
  query.filter.thread = 1;
  EXPECT_TRUE(error_at("end", query).starts_with("fragmentation: --thread leaves out blocks"));
  query = {};
  query.leaks.scan = 1;
  EXPECT_TRUE(error_at("end", query).starts_with("fragmentation: --scan and --to are two moments"));
}

// Nothing is read of a source that can't answer.
class UnreadImport : public test::MemorySource {
 public:
  UnreadImport() : MemorySource(imported()) {}
  base::Result<> replay(model::EventSink& sink, const model::ReplayOptions& options) override {
    ADD_FAILURE() << "it is read";
    return MemorySource::replay(sink, options);
  }

 private:
  static model::Capture imported() {
    model::Capture capture;
    capture.import.tool = "heaptrack";
    return capture;
  }
};

TEST_F(MomentPages, AnImportIsRefusedUnread) {
  for (const char* moment : {"peak", "end", "1ms"}) {
    UnreadImport source;
    Query query;
    query.window.to = moment;
    query.leaks.fragmentation = FragmentationAt::kWindow;
    const auto report = analyze(source, query);
    ASSERT_FALSE(report.has_value()) << moment;
    EXPECT_EQ(report.error().message,
              "fragmentation: heaptrack's file doesn't have addresses of blocks; a recording by `heaptap run` does");
  }
}

TEST_F(MomentPages, APeakNeedsABlock) {
  script_.map(0x7f0000000000, kPage);
  EXPECT_EQ(error_at("peak"), "peak: no block was allocated in this recording");
}

// Damaged or hostile traces claim anything.
TEST_F(MomentPages, OverlapsCountOnceAndAddressesAreClamped) {
  allocate(kHeap, 2 * kPage, 0x10);
  allocate(kHeap + 50, 10, 0x20);
  allocate(kHeap + kPage, 2 * kPage, 0x20);
  allocate(~uint64_t{0} - 10, 5000, 0x10);
  const report::MomentPages pages = pages_at("end");
  EXPECT_EQ(pages.placed.bytes, 3 * kPage + 10);
  EXPECT_EQ(pages.pages, 4u);
}

}  // namespace
}  // namespace heaptap::query
