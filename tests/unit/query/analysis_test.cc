#include "analysis/query/analyze.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "analysis/findings/words.h"
#include "analysis/patterns/name_filter.h"
#include "analysis/query/likely_modules.h"
#include "analysis/report/view.h"
#include "common/frames/table_frames.h"
#include "event_script.h"
#include "record/trace/trace_reader.h"
#include "record/trace/trace_writer.h"
#include "views/json/render_json.h"

namespace heaptap::query {
namespace {

using model::BadReleaseKind;
using wire::Function;

// Writes the script as a trace file and analyzes that.
class Analysis : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }

  report::Report analyzed(const Query& query = {}) {
    if (!written_) {
      write();
    }
    auto reader = trace::TraceReader::open(path_);
    EXPECT_TRUE(reader.has_value()) << reader.error().message;
    auto report = analyze(*reader, query);
    EXPECT_TRUE(report.has_value()) << report.error().message;
    return *std::move(report);
  }

  void write() {
    written_ = true;
    model::Capture capture{};
    capture.command = {"./app"};
    capture.time_resolution_ns = 1000;
    capture.via = "agent";
    for (uint32_t thread = 1; thread <= 3; ++thread) script_.tables.threads.push_back({thread, 100 + thread, "worker"});
    auto writer = trace::TraceWriter::create(path_, true);
    ASSERT_TRUE(writer.has_value()) << writer.error().message;
    ASSERT_TRUE((*writer)->begin(capture).has_value());
    if (script_.batch.time_marks.empty() || script_.batch.time_marks.front().first_event != 0) {
      script_.batch.time_marks.insert(script_.batch.time_marks.begin(), {0, 0});
    }
    for (const model::EventBatch& batch : earlier_batches_) {
      ASSERT_TRUE((*writer)->write(batch, script_.tables).has_value());
    }
    ASSERT_TRUE((*writer)->write(script_.take(), script_.tables).has_value());
    capture.ended = true;
    capture.duration_ns = 5'000'000;
    capture.exit.code = 0;
    ASSERT_TRUE((*writer)->finish(capture, script_.tables).has_value());
  }

  // What comes next is in another frame of the trace.
  void next_frame() {
    earlier_batches_.push_back(script_.take());
    earlier_batches_.back().time_marks = {{0, 0}};
  }

  test::EventScript script_;
  std::vector<model::EventBatch> earlier_batches_;
  bool written_ = false;
  std::string path_ = testing::TempDir() + "analysis_test." + std::to_string(getpid()) + ".htap";
};

TEST_F(Analysis, AccusesNobodyOfABadReleaseWhereAnotherOneWasNotSeen) {
  for (const bool is_unseen : {false, true}) {
    script_ = {};
    written_ = false;
    script_.bad_release(BadReleaseKind::kNeverAllocated, 0x5000);
    script_.bad_release(BadReleaseKind::kDouble, 0x6000);
    script_.release(script_.allocate(8), 1, is_unseen ? Function::kNone : Function::kFree);
    const report::Report report = analyzed();
    EXPECT_EQ(report.totals.bad_releases, is_unseen ? 0u : 1u);
    EXPECT_EQ(report.totals.double_releases, is_unseen ? 0u : 1u);
    EXPECT_EQ(report.totals.unknown_releases, is_unseen ? 2u : 0u);
  }
}

TEST_F(Analysis, JoinsStacksWithTheSameContent) {
  const auto stack = script_.stack({0x10, 0x20});
  const auto again = script_.stack({0x10, 0x20});
  const auto shorter = script_.stack({0x10});
  const auto cut_off = script_.stack({0x10, 0x20}, wire::StackEnd::kNoUnwindTable);
  script_.allocate(1, 1, Function::kMalloc, stack);
  script_.allocate(10, 2, Function::kMalloc, again);
  script_.allocate(100, 1, Function::kMalloc, shorter);
  script_.allocate(1000, 1, Function::kCalloc, stack);
  script_.allocate(10000, 1, Function::kMalloc, cut_off);
  const report::Report report = analyzed({.listing = {.sort = SortKey::kStacks}});
  ASSERT_EQ(report.stacks.size(), 4u);
  EXPECT_EQ(report.stacks[0].allocations, 2u);
  EXPECT_EQ(report.stacks[0].allocated_bytes, 11u);
  EXPECT_EQ(report.stacks[0].threads, (report::ThreadNumbers{1, 2}));
  ASSERT_EQ(report.stacks[0].frames.size, 2u);
  EXPECT_EQ(report.list(report.stacks[0].frames)[0].address, 0x10u);
  EXPECT_EQ(report.stacks[0].end, wire::StackEnd::kComplete);
  EXPECT_NE(report.stacks[3].end, wire::StackEnd::kComplete);
}

// The second one's frames are among the first one's, but reach further out.
TEST_F(Analysis, CutsEachStackAtTheSameDepth) {
  const auto outer = script_.stack({0x30, 0x40});
  const auto called_by = [this](model::StackId caller, uint64_t address) {
    const model::StackId alone = script_.stack({address});
    script_.tables.stacks[alone].parent = caller;
    return alone;
  };
  const auto middle = called_by(outer, 0x20);
  script_.allocate(100, 1, Function::kMalloc, called_by(middle, 0x10));
  script_.allocate(10, 1, Function::kMalloc, outer);
  script_.allocate(1, 1, Function::kMalloc, middle);
  const auto addresses = [](const report::Report& report, size_t stack) {
    std::vector<uint64_t> found;
    for (const model::Frame& frame : report.list(report.stacks[stack].frames)) found.push_back(frame.address);
    return found;
  };
  const report::Report cut = analyzed({.listing = {.sort = SortKey::kTotal, .frames = {.depth = 2}}});
  EXPECT_EQ(addresses(cut, 0), (std::vector<uint64_t>{0x10, 0x20}));
  EXPECT_EQ(addresses(cut, 1), (std::vector<uint64_t>{0x30, 0x40}));
  EXPECT_EQ(addresses(cut, 2), (std::vector<uint64_t>{0x20, 0x30}));
  EXPECT_EQ(cut.stacks[0].frames.is_cut, true);
  EXPECT_EQ(cut.stacks[1].frames.is_cut, false);
  const report::Report whole = analyzed({.listing = {.sort = SortKey::kTotal}});
  EXPECT_EQ(addresses(whole, 0), (std::vector<uint64_t>{0x10, 0x20, 0x30, 0x40}));
  EXPECT_EQ(whole.frames.trie().size(), 1u + 4u) << "they share their nodes";
}

TEST_F(Analysis, SortsByTheFocusWhereNoKeyIsGiven) {
  const auto block = script_.allocate(1000, 1, Function::kMalloc, script_.stack({0x20}));
  script_.allocate(10, 1, Function::kMalloc, script_.stack({0x10}));
  script_.release(block, 1, Function::kFree);
  const report::Report by_focus = analyzed({.listing = {.sort = std::nullopt}});
  ASSERT_EQ(by_focus.stacks.size(), 2u);
  EXPECT_EQ(by_focus.sort_key, "peak");
  EXPECT_EQ(by_focus.stacks[0].peak_bytes, 1000u);
  const report::Report by_key = analyzed({.listing = {.sort = SortKey::kUsage}});
  EXPECT_EQ(by_key.sort_key, "usage");
  EXPECT_EQ(by_key.stacks[0].live_bytes, 10u);
}

TEST_F(Analysis, JoinsCallsOfWhichItWasNotKnownYetWhetherTheyAreOfMalloc) {
  const auto stack = script_.stack({0x10, 0x20});
  const auto other = script_.stack({0x30});
  const auto alone = script_.stack({0x40});
  script_.allocate(1, 1, Function::kMallocOrNew, stack);
  script_.allocate(10, 1, Function::kMalloc, stack);
  script_.allocate(100, 1, Function::kMalloc, stack);
  script_.allocate(1, 2, Function::kAlignedAlloc, stack);
  script_.allocate(2, 1, Function::kNew, other);
  script_.allocate(3, 2, Function::kNewOrNewArray, other);
  script_.allocate(4, 2, Function::kMallocOrNew, alone);
  script_.allocate(4, 2, Function::kCalloc, other);
  const report::Report report = analyzed({.listing = {.sort = SortKey::kStacks}});
  ASSERT_EQ(report.stacks.size(), 5u);
  EXPECT_EQ(report.stacks[0].function, "malloc");
  EXPECT_EQ(report.stacks[0].variant, "");
  EXPECT_EQ(report.stacks[0].allocations, 3u);
  EXPECT_EQ(report.stacks[0].allocated_bytes, 111u);
  EXPECT_EQ(report.stacks[1].function, "aligned_alloc");
  EXPECT_EQ(report.stacks[1].allocations, 1u);
  EXPECT_EQ(report.stacks[2].function, "operator new");
  EXPECT_EQ(report.stacks[2].allocations, 2u);
  EXPECT_EQ(report.stacks[3].variant, "or operator new");
}

TEST_F(Analysis, TellsTheEmergencyPoolOfTheCppLibrary) {
  const auto module = [&](const char* path, uint64_t begin) {
    script_.tables.modules.push_back(
        {.path = path, .build_id = "", .bias = begin, .start = begin, .end = begin + 0x100});
  };
  module("/usr/lib/libstdc++.so.6", 0x1000);
  module("/lib64/ld-linux-x86-64.so.2", 0x2000);
  module("/usr/bin/app", 0x3000);
  script_.allocate(4, 1, Function::kMalloc, script_.stack({0x1010, 0x2010}));  // its constructor, called by the loader
  script_.allocate(3, 1, Function::kMalloc, script_.stack({0x1010, 0x3010}));  // the library for the program
  script_.allocate(2, 1, Function::kMalloc, script_.stack({0x3010, 0x2010}));  // the program's own constructor
  script_.allocate(1, 1, Function::kMalloc, script_.stack({0x1010}));
  const report::Report report = analyzed({.listing = {.sort = SortKey::kStacks}});
  ASSERT_EQ(report.stacks.size(), 4u);
  EXPECT_EQ(findings::words_of(report.stacks[0].purpose), "libstdc++'s emergency pool for exceptions");
  for (size_t i = 1; i < report.stacks.size(); ++i) EXPECT_EQ(report.stacks[i].purpose, report::Purpose::kProgram) << i;
}

TEST_F(Analysis, KeepsIdsWhateverIsShown) {
  script_.allocate(1, 1, Function::kMalloc);
  script_.allocate(100, 2, Function::kCalloc);
  script_.allocate(10, 1, Function::kNew);
  EXPECT_EQ(analyzed().stacks.front().id, 2u);
  EXPECT_EQ(analyzed({.filter = {.thread = 1}}).stacks.front().id, 3u);
  EXPECT_EQ(analyzed({.filter = {.function = "operator n"}}).stacks.front().id, 3u);
  const report::Report limited = analyzed({.listing = {.limit = 1}});
  EXPECT_EQ(limited.stacks.size(), 1u);
  EXPECT_EQ(limited.stack_count, 3u);
}

TEST_F(Analysis, CountsAllStacksAndNamesThoseThatAreAskedFor) {
  const auto first = script_.stack({0x10});
  const auto second = script_.stack({0x20});
  const auto third = script_.stack({0x30});
  const auto block = script_.allocate(7, 1, Function::kMalloc, first);
  script_.allocate(100, 1, Function::kMalloc, second);
  script_.allocate(50, 2, Function::kMalloc, third);
  script_.allocate(5, 2, Function::kMalloc, third);
  script_.release(block, 1);
  const report::Report report = analyzed({.listing = {.limit = 1, .stack_ids = {3, 99, 0, 1}, .counts = true}});
  ASSERT_EQ(report.counts.size(), 3u);
  EXPECT_EQ(report.counts[0].allocations, 1u);
  EXPECT_EQ(report.counts[0].releases, 1u);
  EXPECT_EQ(report.counts[0].allocated_bytes, 7u);
  EXPECT_EQ(report.counts[0].live_bytes, 0u);
  EXPECT_EQ(report.counts[1].live_bytes, 100u);
  EXPECT_EQ(report.counts[2].live_bytes, 55u);
  EXPECT_EQ(report.counts[2].live_blocks, 2u);
  ASSERT_EQ(report.stacks.size(), 2u);  // no stack has the other numbers
  EXPECT_EQ(report.stacks[0].id, 3u);
  EXPECT_EQ(report.stacks[0].threads, report::ThreadNumbers{2});
  EXPECT_EQ(report.stacks[1].id, 1u);
  EXPECT_EQ(report.stack_count, 3u);
  EXPECT_TRUE(analyzed({.listing = {.limit = 1}}).counts.empty());
}

TEST_F(Analysis, SumsStacksToTheTotals) {
  for (uint32_t count = 0; count < 500; ++count) {
    const auto block = script_.allocate(count, 1 + count % 3, Function::kMalloc, script_.stack({count % 17, 5}));
    if (count % 3 != 0) script_.release(block, 1 + count % 2);
  }
  const report::Report report = analyzed();
  report::Totals sum;
  for (const report::StackEntry& stack : report.stacks) {
    sum.allocations += stack.allocations;
    sum.releases += stack.releases;
    sum.live_bytes += stack.live_bytes;
    sum.live_blocks += stack.live_blocks;
    sum.peak_live_bytes += stack.peak_bytes;
    sum.temporary_allocations += stack.temporary_allocations;
    EXPECT_EQ(stack.allocations.counted() - stack.releases.counted(), stack.live_blocks);
  }
  EXPECT_EQ(report.stacks.size(), 17u);
  EXPECT_EQ(sum.allocations, report.totals.allocations);
  EXPECT_EQ(sum.releases, report.totals.releases);
  EXPECT_EQ(sum.live_bytes, report.totals.live_bytes);
  EXPECT_EQ(sum.live_blocks, report.totals.live_blocks);
  EXPECT_EQ(sum.peak_live_bytes, report.totals.peak_live_bytes);
  EXPECT_EQ(sum.temporary_allocations, report.totals.temporary_allocations);
}

TEST_F(Analysis, ListsBadReleasesWithBothStacks) {
  const auto here = script_.stack({0x10});
  const auto there = script_.stack({0x20});
  const auto block = script_.allocate(24, 1, Function::kMalloc, here);
  next_frame();  // a trace holds the addresses of blocks that outlive their frame
  script_.release(block, 1, Function::kDelete, there);
  script_.bad_release(BadReleaseKind::kNeverAllocated, 0x1230);
  const report::Report report = analyzed({.listing = {.errors = true}});
  ASSERT_EQ(report.errors.size(), 2u);
  EXPECT_EQ(report.errors[0].kind, "mismatched");
  EXPECT_EQ(report.errors[0].function, "operator delete");
  EXPECT_NE(report.errors[0].address, 0u);
  ASSERT_TRUE(report.errors[0].allocated.has_value());
  EXPECT_EQ(report.errors[0].allocated->size_bytes, 24u);
  EXPECT_EQ(report.list(report.errors[0].allocated->frames).front().address, 0x10u);
  EXPECT_EQ(report.errors[1].kind, "bad");
  EXPECT_EQ(report.errors[1].address, 0x1230u);
  EXPECT_EQ(report.totals.mismatched_releases, 1u);
  EXPECT_TRUE(analyzed().errors.empty());
}

TEST_F(Analysis, ListsLiveBlocksLargestFirst) {
  script_.allocate(10);
  script_.allocate(30);
  script_.release(script_.allocate(90));
  const report::Report report = analyzed({.listing = {.blocks = true}});
  ASSERT_EQ(report::or_none(report.blocks).size(), 2u);
  const std::vector<report::BlockEntry>& blocks = *report.blocks;
  EXPECT_EQ(blocks[0].number, 2u);
  EXPECT_EQ(blocks[0].size_bytes, 30u);
  EXPECT_EQ(blocks[0].address, 0x20000u);
}

TEST_F(Analysis, GivesTheSameBytesForTheSameTrace) {
  for (uint32_t count = 0; count < 200; ++count) script_.allocate(8, 1, Function::kMalloc, script_.stack({count % 50}));
  const std::string first = json::render_json(analyzed(), report::View::kSummary);
  EXPECT_EQ(first, json::render_json(analyzed(), report::View::kSummary));
}

TEST(LikelyModules, AreThoseWhereMostStacksBegin) {
  model::Tables tables = frames::empty_tables();
  for (const char* path : {"/libc.so", "/app", "/plugin.so", "/ld.so"}) {
    const uint64_t start = 0x1000 * (tables.modules.size() + 1);
    tables.modules.push_back({.path = path, .build_id = "", .bias = start, .start = start, .end = start + 0x1000});
    tables.codes.push_back({start + 0x10, 0, false});
  }
  const auto add = [&tables](model::StackId parent, model::CodeId code) {
    tables.stacks.push_back({parent, code});
    return static_cast<model::StackId>(tables.stacks.size() - 1);
  };
  EXPECT_TRUE(modules_of_most_stacks(tables).empty());
  add(0, 3);
  const model::StackId start = add(add(0, 1), 0);
  for (const model::CodeId code : {1U, 2U, 1U, 0U}) add(start, code);
  const std::vector<model::Module> modules = modules_of_most_stacks(tables);
  ASSERT_EQ(modules.size(), 2U);
  EXPECT_EQ(modules[0].path, "/app");
  EXPECT_EQ(modules[1].path, "/libc.so");
}

TEST(SortKeys, MayBeShortenedAsLongAsTheyAreUnique) {
  EXPECT_EQ(parse_sort_key("u"), SortKey::kUsage);
  EXPECT_EQ(parse_sort_key("al"), SortKey::kAllocations);
  EXPECT_EQ(parse_sort_key("leaks"), SortKey::kLeaks);
  EXPECT_EQ(parse_sort_key("te"), SortKey::kTemporary);
  EXPECT_EQ(parse_sort_key("leaked"), SortKey::kLeakedBytes);
  EXPECT_FALSE(parse_sort_key("a").has_value());
  EXPECT_FALSE(parse_sort_key("").has_value());
  EXPECT_FALSE(parse_sort_key("usages").has_value());
}

TEST(NameFilters, TakePartsOfNamesAndExpressions) {
  EXPECT_TRUE(patterns::NameFilter("foo(int)").matches("ns::foo(int)"));
  EXPECT_TRUE(patterns::NameFilter("^ns::.*int").matches("ns::foo(int)"));
  EXPECT_FALSE(patterns::NameFilter("^foo").matches("ns::foo(int)"));
  EXPECT_TRUE(patterns::NameFilter("operator[").matches("operator[](int)")) << "not an expression, so it is plain text";
}

}  // namespace
}  // namespace heaptap::query
