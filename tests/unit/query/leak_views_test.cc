// Who holds what, what would go with what, and how scans differ: from traces with scans that are made by hand.
#include <gmock/gmock.h>

#include <cstring>
#include <span>

#include "analysis/findings/block_text.h"
#include "analysis/query/container_type.h"
#include "analysis/query/register_names.h"
#include "analysis/report/view.h"
#include "scan_script.h"
#include "views/text/render_text.h"

// What stands in the stacks and among the roots of the made-up traces.
extern "C" {
[[gnu::noinline, gnu::used]] void make_node() { asm volatile("nop; nop; nop"); }
[[gnu::noinline, gnu::used]] void make_list() { asm volatile("nop; nop; nop;"); }
[[gnu::noinline, gnu::used]] void run_loop() { asm volatile("nop; nop; nop; nop"); }
[[gnu::used]] void* node_cache[4] = {nullptr, nullptr, nullptr, nullptr};
[[gnu::used]] void* other_cache = nullptr;
}

struct Shape {
  virtual ~Shape();
};
Shape::~Shape() = default;

namespace {

using namespace heaptap;
using query::BlockQuestion;
using query::Query;
using query::RetainedBy;
using wire::PointerKind;
using wire::RootKind;

BlockQuestion question(std::string_view text) {
  const auto parsed = query::parse_block_question(text);
  EXPECT_TRUE(parsed.has_value());
  return parsed.value_or(BlockQuestion{});
}

Query asking(std::string_view text) {
  Query query;
  query.leaks.why = question(text);
  return query;
}

class LeakViews : public test::ScanScript {
 protected:
  void SetUp() override { add_own_module(); }

  uint32_t node(uint64_t size) { return block(size, {inside(make_node), inside(run_loop)}); }
  uint32_t list(uint64_t size) { return block(size, {inside(make_list), inside(run_loop)}); }

  report::Holders why(std::string_view text) {
    const report::Report made = report(asking(text));
    EXPECT_TRUE(made.holders.has_value());
    text_ = text::render_text(made, report::View::kHolders, {});
    return made.holders.value_or(report::Holders{});
  }

  std::string text_;
};

TEST_F(LeakViews, NameAWayFromAGlobalVariable) {
  list(100);
  node(50);
  node(60);
  scan({{0, 1}, {0, 2}, {1, 2, PointerKind::kInterior}}, {{0}});
  scans_[0].roots[0].address = reinterpret_cast<uint64_t>(&node_cache[2]);
  const report::Holders holders = why("#b3");
  ASSERT_TRUE(holders.held.has_value());
  EXPECT_EQ(holders.held->root->name, "node_cache");
  EXPECT_EQ(holders.held->root->offset, 16u);
  ASSERT_EQ(holders.held->steps.size(), 1u);
  EXPECT_EQ(holders.held->steps[0].block.number, 1u);
  EXPECT_EQ(holders.held->steps[0].block.caller.function, "make_list");
  EXPECT_EQ(holders.held->steps[0].offset, 8u);
  EXPECT_EQ(holders.block.state, "reachable");
  // With its line, where the tests are built with debug information.
  EXPECT_THAT(text_, testing::ContainsRegex("global node_cache( \\(leak_views_test.cc:[0-9]+\\))? \\+16\n  -> #b1"));
}

TEST_F(LeakViews, FindABlockByAnAddressInsideIt) {
  node(50);
  scan({}, {{0}});
  EXPECT_EQ(why("0x10010").offset, 16u);
  EXPECT_EQ(why("0x10031").block.number, 1u);
  const auto behind = analyzed(asking("0x10032"));
  ASSERT_FALSE(behind.has_value());
  EXPECT_EQ(behind.error().kind, base::ErrorKind::kUsage);
}

TEST_F(LeakViews, CountLostBytesOfAllStacksUnlessScansAreLeftOut) {
  list(100);
  node(50);
  node(60);
  scan({{1, 2}}, {{0}});
  Query query{.listing = {.stacks = false, .counts = true}};
  const report::Report made = report(query);
  ASSERT_EQ(made.counts.size(), 2u);
  EXPECT_EQ(made.counts[0].leaked_bytes, 0u);
  EXPECT_EQ(made.counts[1].leaked_bytes, 110u);
  EXPECT_EQ(made.counts[1].leaked_blocks, 2u);
  query.leaks.scans = false;
  const report::Report without = report(query);
  EXPECT_FALSE(without.leaks.scanned);
  EXPECT_EQ(without.counts[1].leaked_bytes, 0u);
}

TEST_F(LeakViews, CountNoByteOfAPoolTwice) {
  list(1000);
  node(40);
  node(50);
  scan({{1, 0}}, {});
  scan({{1, 0}}, {{0}});
  for (model::HeapScan& scan : scans_) {
    scan.blocks[1].address = scan.blocks[0].address + 16;  // as capture/supervision/pool_cut.h has it
    for (size_t i = 1; i < 3; ++i) scan.blocks[i].number = model::kFirstPooledNumber + i;
  }
  const report::Leaks lost_together = report({.leaks = {.scan = 1}}).leaks;
  EXPECT_EQ(lost_together.indirect.bytes, 1000u);
  EXPECT_EQ(lost_together.pools.definite.bytes, 90u);
  EXPECT_EQ(lost_together.pools.lost_apart.bytes, 50u) << "the other one lies in what is lost";
  EXPECT_EQ(lost_together.pools.leaked_apart.bytes, 50u);
  const report::Leaks lost_alone = report({.leaks = {.scan = 2}}).leaks;
  EXPECT_EQ(lost_alone.reachable.bytes, 1000u);
  EXPECT_EQ(lost_alone.pools.lost_apart.bytes, 90u);
}

TEST_F(LeakViews, CountNoByteOfAPoolTwiceBelowItsMemoryOrSinceAScan) {
  list(1000);
  node(40);
  node(50);
  scan({{1, 0}}, {{0}});
  scan({{0, 2}, {1, 0}, {2, 0}}, {{1}});
  scan({{0, 1}, {0, 2}, {1, 0}, {2, 0}}, {});
  for (model::HeapScan& scan : scans_) {
    for (size_t i = 1; i < 3; ++i) {
      scan.blocks[i].address = scan.blocks[0].address + 16 * i;
      scan.blocks[i].number = model::kFirstPooledNumber + i;
    }
  }
  const report::Report made = report({.leaks = {.scan = 3}});
  report::BlockCount below;
  for (const report::StackEntry& stack : made.stacks) {
    if (stack.leaks) below += stack.leaks->below;
  }
  EXPECT_EQ(made.leaks.definite.bytes + made.leaks.indirect.bytes, 1000u);
  EXPECT_EQ(below.bytes, 0u) << "all of it is in the block above";
  const report::Report changed = report({.leaks = {.scan = 3, .since = 2}});
  ASSERT_TRUE(changed.scan_changes.has_value());
  EXPECT_EQ(changed.scan_changes->total.appeared().bytes, 1000u);
}

TEST_F(LeakViews, CallNoBlockOfTheLoaderLostUnlessTheLoaderIsTheCLibraryAsWell) {
  const auto lost_below = [&](const char* path) {
    start_again();
    script_.tables.modules.push_back({.path = path, .build_id = "", .bias = 0x1000, .start = 0x1000, .end = 0x1100});
    block(50, {0x1010});
    scan({}, {});
    return report({}).leaks.definite.blocks;
  };
  EXPECT_EQ(lost_below("/lib64/ld-linux-x86-64.so.2"), 0u);
  EXPECT_EQ(lost_below("/lib/ld-2.31.so"), 0u);
  EXPECT_EQ(lost_below("/lib/ld-musl-x86_64.so.1"), 1u) << "strdup is in there";
  EXPECT_EQ(lost_below("/lib/libc.so.6"), 1u);
}

TEST_F(LeakViews, TakeTheLargestBlockOfAStack) {
  node(50);
  node(60);
  node(60);
  list(10);
  scan({{3, 1}}, {{3}, {0}, {2}});
  const report::Holders holders = why("#1");
  EXPECT_EQ(holders.block.number, 2u);
  EXPECT_EQ(holders.of_stack.blocks, 3u);
  EXPECT_EQ(holders.of_stack.bytes, 170u);
  EXPECT_EQ(holders.same_root.blocks, 1u);
}

TEST_F(LeakViews, TakeABlockOfTheWorstKindOfAStack) {
  for (const uint64_t size : {80, 70, 60, 50}) node(size);
  scan({{2, 3}, {3, 2}}, {{0}, {1, PointerKind::kInterior}});
  const report::Holders holders = why("#1");
  EXPECT_EQ(holders.block.number, 3u);
  EXPECT_EQ(holders.block.state, "definite");
  EXPECT_EQ(holders.of_kind.blocks, 1u);
  EXPECT_EQ(holders.of_stack.blocks, 4u);
  EXPECT_NE(text_.find("The largest of its blocks that are definitely lost, 60 B in 1 block of 260 B in 4 blocks:"),
            std::string::npos)
      << text_;
  EXPECT_NE(text_.find("Only a cycle points to it: #b3 -> #b4 -> #b3"), std::string::npos) << text_;
  ASSERT_TRUE(holders.possible.has_value()) << "one path for each kind";
  EXPECT_EQ(holders.possible->block.number, 2u);
  EXPECT_EQ(holders.possible->count.blocks, 1u);
  EXPECT_NE(text_.find("The stack's possibly lost blocks are 70 B in 1 block; shortest path to the largest:\n"),
            std::string::npos)
      << text_;
  report::Report none;
  EXPECT_THAT(findings::holder_lines(none, holders), testing::Contains("Only a cycle points to it: #b3 -> #b4 -> #b3"));
}

TEST_F(LeakViews, NameEachKindOfRoot) {
  const auto text_for = [&](RootKind kind, auto change) {
    start_again();
    add_own_module();
    node(8);
    scan({}, {{0, PointerKind::kStart, kind}});
    change(scans_[0].roots[0]);
    why("#b1");
    return text_;
  };
  const auto expect = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  expect(text_for(RootKind::kStack,
                  [&](model::RootPointer& root) {
                    root.thread = 3;
                    root.frame_code = inside(run_loop);
                  }),
         "stack of thread 3 \"worker\", frame run_loop ");
  expect(text_for(RootKind::kRegister,
                  [](model::RootPointer& root) {
                    root.thread = 1;
                    root.address = 3;
                  }),
         "of thread 1");
  expect(text_for(RootKind::kMapping, [](model::RootPointer& root) { root.address = 0x7000; }),
         "memory of no block, at 0x7000");
  expect(text_for(RootKind::kThreadLocal, [](model::RootPointer& root) { root.thread = 2; }),
         "thread-local storage of thread 2");
  expect(text_for(RootKind::kContextStack, [](model::RootPointer& root) { root.address = 0x7000; }),
         "context stack at 0x7000");
}

TEST_F(LeakViews, SayWhatALostBlockIsBelowOfAndWhoHeldItBefore) {
  list(100);
  node(50);
  scan({{0, 1}}, {{0}});
  scan({{0, 1}}, {});
  const report::Holders holders = why("#b2");
  EXPECT_EQ(holders.block.state, "indirect");
  EXPECT_FALSE(holders.held.has_value());
  ASSERT_TRUE(holders.below.has_value());
  ASSERT_EQ(holders.below->steps.size(), 1u);
  EXPECT_EQ(holders.below->steps[0].block.number, 1u);
  EXPECT_EQ(holders.earlier_scan, 1u);
  ASSERT_TRUE(holders.earlier.has_value());
  EXPECT_TRUE(holders.earlier->root.has_value());
  EXPECT_NE(text_.find("indirectly lost, held by this lost block"), std::string::npos);
  const report::Holders leader = why("#b1");
  EXPECT_EQ(leader.block.state, "definite");
  EXPECT_FALSE(leader.below.has_value());
  EXPECT_NE(text_.find("\nNothing points to it.\n"), std::string::npos) << text_;
}

TEST_F(LeakViews, NameTheCycleThatAloneHoldsALostBlock) {
  node(8);
  node(8);
  node(8);
  scan({{0, 1}, {1, 2}, {2, 0}}, {});
  const report::Holders leader = why("#b1");
  EXPECT_EQ(leader.block.state, "definite");
  EXPECT_NE(text_.find("Only a cycle points to it: #b1 -> #b2 -> #b3 -> #b1\n"), std::string::npos) << text_;
}

TEST_F(LeakViews, NameTheStackThatHoldsIndirectlyLostBlocks) {
  list(100);
  node(50);
  node(60);
  scan({{0, 1}, {0, 2}}, {});
  const report::Report made = report({.listing = {.leaks_only = true}});
  const std::string text = text::render_text(made, report::View::kLeaks, {});
  const uint64_t list_stack = made.stacks[0].leaks->definite.blocks != 0 ? made.stacks[0].id : made.stacks[1].id;
  EXPECT_NE(text.find("210 B (100 B direct, 110 B indirect) in 3 blocks definitely lost"), std::string::npos) << text;
  EXPECT_NE(text.find("110 B in 2 blocks indirectly lost (held by #" + std::to_string(list_stack) + ")"),
            std::string::npos)
      << text;
}

TEST_F(LeakViews, CallTheBlocksByTheFirstFunctionThatTheUserDoesNotSkip) {
  node(8);
  scan({}, {{0}});
  Query query = asking("#b1");
  query.filter.skip = {"make_node"};
  EXPECT_EQ(report(query).holders->block.caller.function, "run_loop");
  EXPECT_EQ(why("#b1").block.caller.function, "make_node");
}

TEST_F(LeakViews, LeaveOutTheMiddleOfALongWay) {
  std::vector<test::GraphEdge> edges;
  for (uint32_t i = 0; i < 1000; ++i) {
    node(16);
    if (i != 0) edges.push_back({i - 1, i});
  }
  scan(edges, {{0}});
  const report::Holders holders = why("#b1000");
  EXPECT_EQ(holders.held->steps.size() + holders.held->left_out, 999u);
  EXPECT_LT(holders.held->steps.size(), 100u);
  EXPECT_EQ(holders.held->steps.back().block.number, 999u);
}

TEST_F(LeakViews, SumWhatAStackRetainsWithoutCountingABlockTwice) {
  list(100);  // holds a list of nodes, and nothing else does
  node(10);
  node(20);
  node(5);
  list(1);
  scan({{0, 1}, {1, 2}, {4, 3}}, {{0}, {4}, {3}});
  const report::Report by_stack = report({.leaks = {.retained = RetainedBy::kStack}});
  ASSERT_EQ(by_stack.retained->entries.size(), 2u);
  EXPECT_EQ(by_stack.retained->entries[0].own.bytes, 101u);
  EXPECT_EQ(by_stack.retained->entries[0].retained.bytes, 131u);
  EXPECT_EQ(by_stack.retained->entries[1].own.bytes, 35u);
  EXPECT_EQ(by_stack.retained->entries[1].retained.bytes, 35u);
  const report::Report by_block = report({.listing = {.limit = 2}, .leaks = {.retained = RetainedBy::kBlock}});
  ASSERT_EQ(by_block.retained->entries.size(), 2u);
  EXPECT_EQ(by_block.retained->entry_count, 5u);
  EXPECT_EQ(by_block.retained->entries[0].retained.bytes, 130u);
  EXPECT_EQ(by_block.retained->entries[0].retained.blocks, 3u);
  EXPECT_EQ(by_block.retained->entries[1].block->number, 2u);
  EXPECT_EQ(by_block.retained->held.bytes, 136u);
}

TEST_F(LeakViews, SortBlocksByType) {
  node(10);
  node(30);
  scan({}, {{0}, {1}});
  Shape shape;
  std::memcpy(&scans_[0].blocks[0].type, static_cast<void*>(&shape), sizeof(uint64_t));
  const report::Report made = report({.leaks = {.retained = RetainedBy::kType}});
  ASSERT_EQ(made.retained->entries.size(), 2u);
  EXPECT_EQ(made.retained->entries[0].type, "");
  EXPECT_EQ(made.retained->entries[1].type, "Shape");
  EXPECT_EQ(made.retained->entries[1].own.bytes, 10u);
}

TEST_F(LeakViews, TellWhatEachGlobalVariableHoldsWhereverElseItIsReachableFrom) {
  list(100);
  node(10);
  node(20);
  node(40);  // held by both
  node(80);  // held by a stack too
  scan({{0, 1}, {0, 3}, {2, 3}, {0, 4}}, {{0}, {2}, {4, PointerKind::kStart, RootKind::kStack}});
  scans_[0].roots[0].address = reinterpret_cast<uint64_t>(&node_cache[1]);
  scans_[0].roots[1].address = reinterpret_cast<uint64_t>(&other_cache);
  const report::Report made = report({.leaks = {.globals = true}});
  ASSERT_EQ(made.globals->entries.size(), 2u);
  EXPECT_EQ(made.globals->entries[0].variable.name, "node_cache");
  EXPECT_EQ(made.globals->entries[0].retained.bytes, 190u);
  EXPECT_EQ(made.globals->entries[0].also.bytes, 80u);
  EXPECT_EQ(made.globals->entries[0].also_from, (std::vector<std::string>{"stack"}));
  EXPECT_EQ(made.globals->entries[0].direct.blocks, 1u);
  EXPECT_EQ(made.globals->entries[1].variable.name, "other_cache");
  EXPECT_EQ(made.globals->entries[1].retained.bytes, 20u);
  EXPECT_TRUE(made.globals->entries[1].also_from.empty());
  EXPECT_EQ(made.globals->held.bytes, 250u);
  EXPECT_EQ(made.globals->reachable.bytes, 250u);
  EXPECT_EQ(made.globals->shared.bytes, 40u);
  EXPECT_EQ(made.globals->elsewhere.bytes, 80u);
  const std::string text = text::render_text(made, report::View::kGlobals, {});
  EXPECT_THAT(text, testing::HasSubstr("\n250 B in 5 blocks retained by global variables\n"));
  EXPECT_THAT(text, testing::ContainsRegex("190 B +3 +1 block +stack\n +global node_cache( \\(.*\\))?\n"));
  EXPECT_THAT(text, testing::ContainsRegex("40 B +1\n +\\(several variables together: node_cache, other_cache\\)\n"));
}

TEST_F(LeakViews, GiveABlockThatTwoVariablesPointToToBoth) {
  add_own_module();
  list(100);
  node(10);
  node(20);
  scan({}, {{0}, {0}, {0}, {1}, {2}});
  scans_[0].roots[0].address = reinterpret_cast<uint64_t>(&node_cache[0]);
  scans_[0].roots[1].address = reinterpret_cast<uint64_t>(&node_cache[1]);
  scans_[0].roots[2].address = reinterpret_cast<uint64_t>(&other_cache);
  scans_[0].roots[3].address = reinterpret_cast<uint64_t>(&node_cache[1]);
  scans_[0].roots[4].address = reinterpret_cast<uint64_t>(&other_cache);
  const report::Globals made = *report({.leaks = {.globals = true}}).globals;
  ASSERT_EQ(made.entries.size(), 2u);
  EXPECT_EQ(made.entries[0].variable.name, "other_cache");
  EXPECT_EQ(made.entries[0].retained.bytes, 20u);
  EXPECT_EQ(made.entries[0].direct.bytes, 120u);
  EXPECT_EQ(made.entries[1].variable.name, "node_cache");
  EXPECT_EQ(made.entries[1].retained.bytes, 10u);
  EXPECT_EQ(made.entries[1].direct.bytes, 110u) << "two of its words count once";
  EXPECT_EQ(made.shared.bytes, 100u);
  EXPECT_EQ(made.held.bytes, 130u);
  ASSERT_EQ(made.shared_by.size(), 2u);
  EXPECT_EQ(made.shared_by[0].name, "node_cache");
  EXPECT_EQ(made.shared_by[1].name, "other_cache");
}

TEST_F(LeakViews, GiveABlockToOneVariableWhoseNameIsUnknownIfItsWordsAreClose) {
  for (const uint64_t distance : {8, 56, 64, 4096}) {
    start_again();
    list(100);
    scan({}, {{0}, {0}});
    scans_[0].roots[0].address = 0x700000;
    scans_[0].roots[1].address = 0x700000 + distance;
    const report::Globals made = *report({.leaks = {.globals = true}}).globals;
    EXPECT_EQ(made.entries.size(), distance < 64 ? 1u : 0u) << distance;
    EXPECT_EQ(made.shared.bytes, distance < 64 ? 0u : 100u) << distance;
  }
}

TEST_F(LeakViews, GiveABlockToTheRootThatStaysLongest) {
  using enum RootKind;
  const std::vector<RootKind> by_weight{kGlobal, kThreadLocal, kMapping, kStack};
  for (size_t best = 0; best < by_weight.size(); ++best) {
    for (const RootKind worse : std::span(by_weight).subspan(best)) {
      for (const bool is_first : {true, false}) {
        start_again();
        add_own_module();
        list(100);
        node(10);
        scan({{0, 1}}, {{0, PointerKind::kStart, is_first ? by_weight[best] : worse},
                        {0, PointerKind::kStart, is_first ? worse : by_weight[best]}});
        const report::Globals globals = *report({.leaks = {.globals = true}}).globals;
        const std::vector<report::BlockCount> owned{globals.held, globals.thread_locals, globals.mappings,
                                                    globals.stacks};
        for (size_t i = 0; i < owned.size(); ++i) EXPECT_EQ(owned[i].bytes, i == best ? 110u : 0u);
        EXPECT_EQ(globals.reachable.bytes, 110u);
      }
    }
  }
}

TEST_F(LeakViews, AddUpToWhatIsReachableWithARowForEachOwner) {
  for (const uint64_t size : {100, 20, 3, 7, 1}) node(size);
  scan({}, {{0},
            {1, PointerKind::kStart, RootKind::kThreadLocal},
            {2, PointerKind::kStart, RootKind::kMapping},
            {3, PointerKind::kStart, RootKind::kRegister}});
  const report::Report made = report({.leaks = {.globals = true}});
  EXPECT_EQ(made.globals->reachable.bytes, 130u);
  const std::string text = text::render_text(made, report::View::kGlobals, {});
  EXPECT_THAT(text, testing::HasSubstr("130 B in 4 blocks reachable, 100 B in 1 block of them retained by global"));
  EXPECT_THAT(text, testing::ContainsRegex("20 B +1 +\\(thread-local storage, no global variable\\)\n"));
  EXPECT_THAT(text, testing::ContainsRegex("3 B +1 +\\(mapped memory, no variable\\)\n"));
  EXPECT_THAT(text, testing::ContainsRegex("7 B +1 +\\(stacks and registers alone\\)\n"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("ALSO FROM")));
}

TEST_F(LeakViews, AddUpToWhatGlobalVariablesHoldHoweverManyAreListed) {
  constexpr size_t kVariables = 4;
  std::vector<test::GraphRoot> roots;
  std::vector<test::GraphEdge> edges;
  for (uint32_t i = 0; i < kVariables; ++i) {
    list(uint64_t{100} * (i + 1));
    roots.push_back({i});
  }
  node(7);  // held by two of them
  edges = {{0, kVariables}, {1, kVariables}};
  scan(edges, roots);
  for (size_t i = 0; i < kVariables; ++i) scans_[0].roots[i].address = 0x700000 + 0x1000 * i;
  for (size_t limit = 1; limit <= kVariables + 1; ++limit) {
    const report::Report made = report({.listing = {.limit = limit}, .leaks = {.globals = true}});
    const report::Globals& globals = *made.globals;
    report::BlockCount sum = globals.shared;
    sum += globals.unlisted;
    for (const report::GlobalEntry& entry : globals.entries) sum += entry.retained;
    EXPECT_EQ(globals.entries.size(), std::min(limit, kVariables));
    EXPECT_EQ(sum.blocks, kVariables + 1) << limit;
    EXPECT_EQ(sum.bytes, 1007u) << limit;
    EXPECT_EQ(globals.held.bytes, 1007u) << limit;
    EXPECT_EQ(globals.shared.bytes, 7u) << limit;
    const std::string text = text::render_text(made, report::View::kGlobals, {});
    EXPECT_EQ(text.find(" more: -n N shows more)") != text.npos, limit < kVariables) << text;
    EXPECT_THAT(text, testing::ContainsRegex(" 7 B +1 +\\(several variables together\\)\n"));
  }
}

TEST_F(LeakViews, CompareTwoScans) {
  list(100);
  node(10);
  node(20);
  scan({}, {{1}, {2}});
  scan({}, {{0}, {2}});
  const report::Report made = report({.leaks = {.since = 1}});
  EXPECT_EQ(made.scan_changes->total.appeared().bytes, 10u);
  EXPECT_EQ(made.scan_changes->total.older.bytes, 10u);
  EXPECT_EQ(made.scan_changes->total.remained.bytes, 0u);
  EXPECT_EQ(made.scan_changes->total.gone.bytes, 100u);
  ASSERT_EQ(made.scan_changes->stacks.size(), 2u);
  EXPECT_EQ(made.list(made.scan_changes->stacks[0].frames)[0].function, "make_node");
  EXPECT_FALSE(analyzed({.leaks = {.since = 2}}).has_value()) << "it isn't earlier";
  EXPECT_FALSE(analyzed({.leaks = {.since = 7}}).has_value()) << "it isn't there";
  const report::Report list = report({.leaks = {.scan_list = true}});
  ASSERT_EQ(list.scans->size(), 2u);
  EXPECT_EQ((*list.scans)[0].definite.bytes, 100u);
  EXPECT_EQ((*list.scans)[1].definite.bytes, 10u);
}

TEST_F(LeakViews, NeedAScan) {
  node(8);
  for (const Query& query :
       {asking("#b1"), Query{.leaks = {.retained = RetainedBy::kType}}, Query{.leaks = {.globals = true}},
        Query{.leaks = {.scan_list = true}}, Query{.leaks = {.since = 1}}}) {
    const auto made = analyzed(query);
    ASSERT_FALSE(made.has_value());
    EXPECT_NE(made.error().message.find("no leak scan"), std::string::npos);
  }
}

TEST(BlockQuestions, AreAddressesBlocksAndStacks) {
  using enum BlockQuestion::By;
  EXPECT_EQ(question("0x7fAb").value, 0x7fabu);
  EXPECT_EQ(question("0x10").by, kAddress);
  EXPECT_EQ(question("#b12").by, kNumber);
  EXPECT_EQ(question("b12").value, 12u);
  EXPECT_EQ(question("#12").by, kStack);
  EXPECT_EQ(question("12").by, kStack);
  for (const char* text : {"", "#", "0x", "12x", "-1", "#b", "0xg", "99999999999999999999999"}) {
    EXPECT_FALSE(query::parse_block_question(text).has_value()) << text;
  }
}

TEST(ContainerTypes, AreWhatTheProgramWrote) {
  const auto type_of = [](const std::vector<std::string>& functions) {
    std::vector<model::Frame> frames(functions.size());
    for (size_t i = 0; i < functions.size(); ++i) frames[i].function = functions[i];
    return query::container_type(frames);
  };
  EXPECT_EQ(type_of({"std::__new_allocator<int>::allocate(unsigned long, void const*)",
                     "std::allocator_traits<std::allocator<int> >::allocate(std::allocator<int>&, unsigned long)",
                     "std::_Vector_base<int, std::allocator<int> >::_M_allocate(unsigned long)",
                     "void std::vector<int, std::allocator<int> >::_M_realloc_insert<int>(int&&)",
                     "std::vector<int, std::allocator<int> >::push_back(int&&)", "main"}),
            "std::vector<int>");
  EXPECT_EQ(
      type_of({"std::map<int, std::deque<A, std::allocator<A> >, std::less<int>, std::allocator<std::pair<int const, "
               "std::deque<A, std::allocator<A> > > > >::operator[](int&&)"}),
      "std::map<int, std::deque<A>>");
  EXPECT_EQ(
      type_of({"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::_M_create(unsigned "
               "long&, unsigned long)"}),
      "std::string");
  EXPECT_EQ(type_of({"std::make_unique<shop::Cart>()", "main"}), "shop::Cart");
  EXPECT_EQ(type_of({"make_node", "std::vector<int, std::allocator<int> >::push_back(int&&)"}), "");
  EXPECT_EQ(type_of({}), "");
  EXPECT_EQ(type_of({"std::vector<int"}), "");
  EXPECT_EQ(type_of({"std::vector<>::f"}), "std::vector<>");
}

TEST(ContainerTypes, OfCountedObjectsNameTheObject) {
  const auto type_of = [](const char* type) { return query::shared_block_type(type); };
  EXPECT_EQ(type_of("std::_Sp_counted_ptr_inplace<shop::Session, std::allocator<void>, (__gnu_cxx::_Lock_policy)2>"),
            "std::shared_ptr<shop::Session> block");
  EXPECT_EQ(type_of("std::_Sp_counted_ptr_inplace<std::map<int, A>, std::allocator<void>, (...)2>"),
            "std::shared_ptr<std::map<int, A>> block");
  EXPECT_EQ(type_of("std::_Sp_counted_ptr<A*, (__gnu_cxx::_Lock_policy)2>"), "std::shared_ptr<A> counts");
  EXPECT_EQ(type_of("std::__shared_ptr_emplace<A, std::allocator<A>>"), "std::shared_ptr<A> block");
  EXPECT_EQ(type_of("std::vector<int>"), "std::vector<int>");
  EXPECT_EQ(type_of("std::_Sp_counted_ptr<"), "std::shared_ptr<> counts");
}

TEST(RegisterNames, AreThoseOfTheCpu) {
  EXPECT_EQ(query::register_name("x86_64", 3), "rbx");
  EXPECT_EQ(query::register_name("x86_64", 18), "xmm1");
  EXPECT_EQ(query::register_name("i386", 3), "ebx");
  EXPECT_EQ(query::register_name("i386", 22), "xmm1");
  EXPECT_EQ(query::register_name("odd", 3), "register 3");
  EXPECT_EQ(query::register_name("x86_64", wire::kSomeVectorRegister), "a vector register");
}

}  // namespace
