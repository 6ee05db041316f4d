// Stacks that are ignored: in the totals, in no list, and counted as such.
#include "analysis/query/ignores.h"

#include "analysis/findings/ignored_text.h"
#include "analysis/query/merge.h"
#include "analysis/report/view.h"
#include "scan_script.h"
#include "views/json/render_json.h"
#include "views/text/render_text.h"

// Functions of the test that stand in stacks.
extern "C" {
[[gnu::noinline, gnu::used]] void noisy() { asm volatile("nop; nop; nop"); }
[[gnu::noinline, gnu::used]] void quiet_one() { asm volatile("nop; nop; nop;"); }
[[gnu::noinline, gnu::used]] void outer() { asm volatile("nop; nop; nop; nop"); }
}

namespace {

using namespace heaptap;
using query::Ignores;
using query::Query;

Ignores ignoring(const std::vector<std::string>& texts) {
  Ignores ignores;
  for (const std::string& text : texts) {
    EXPECT_TRUE(ignores.add(text, "heaptap.conf:" + std::to_string(ignores.rules().size() + 1)).has_value()) << text;
  }
  return ignores;
}

Query without(const std::vector<std::string>& texts) {
  Query query;
  query.filter.ignores = ignoring(texts);
  return query;
}

bool is_found(const std::string& text, const model::Frame& frame) { return ignoring({text}).find(frame) == 0; }

TEST(Ignores, AreComparedWithFunctionPlaceAndModule) {
  model::Frame frame;
  frame.function = "std::vector<int, std::allocator<int> >::push_back(int&&)";
  frame.file = "/home/me/shop/cart.cc";
  frame.line = 12;
  frame.module = "/usr/lib/libshop.so.1";
  for (const char* text : {"^std::vector", "push_back\\(int", "std::vector<int>::push_back",
                           "cart.cc:12 std::", "^cart\\.cc:1[0-9] .*push_back", "^/home/me/.*:12 ", "libshop\\.so",
                           "^/usr/lib/lib(shop|x)"}) {
    EXPECT_TRUE(is_found(text, frame)) << text;
  }
  for (const char* text : {"^push_back", "cart.cc:13", "cart.cc:1 ", "^libshop", "malloc"})
    EXPECT_FALSE(is_found(text, frame)) << text;
  EXPECT_FALSE(is_found(".*", model::Frame{})) << "a frame of which nothing is known";
  EXPECT_EQ(ignoring({"nothing", "shop", "push"}).find(frame), 1u);
}

TEST(Ignores, RefuseWhatIsNoExpressionAndWhatIsTooMuch) {
  Ignores ignores;
  const auto wrong = ignores.add("f(", "x:1");
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().kind, base::ErrorKind::kUsage);
  EXPECT_NE(wrong.error().message.find("'f(' is not a regular expression: missing )"), std::string::npos);
  EXPECT_FALSE(ignores.add("", "x:1").has_value());
  EXPECT_TRUE(ignores.empty());
  base::Result<> added;
  size_t count = 0;
  for (; added && count < 5000; ++count) added = ignores.add("name", "x:1");
  EXPECT_EQ(count, 1001u);
  Ignores large;
  added = {};
  for (count = 0; added && count < 5000; ++count) added = large.add("(a{30}){30}", "x:1");
  EXPECT_LT(count, 30u);
}

class IgnoredStacks : public test::ScanScript {
 protected:
  // Lost: two noisy blocks with a quiet one below the first, a quiet one with a noisy one below it. Held: one of each.
  void SetUp() override {
    add_own_module();
    noise(100);
    calm(30);
    noise(100);
    calm(7);
    noise(5);
    noise(1000);
    calm(2000);
    scan({{0, 1}, {3, 4}, {5, 6}}, {{5}});
  }

  uint32_t noise(uint64_t size, uint32_t thread = 1) {
    return block(size, {inside(noisy), inside(outer)}, wire::Function::kMalloc, thread);
  }
  uint32_t calm(uint64_t size, uint32_t thread = 1) {
    return block(size, {inside(quiet_one), inside(outer)}, wire::Function::kMalloc, thread);
  }
};

TEST_F(IgnoredStacks, AreInTheTotalsAndInNoList) {
  script_.at(1'000'000);
  const model::BlockNumber gone = script_.allocate(11, 2, wire::Function::kMalloc, script_.stack({inside(noisy)}));
  script_.at(2'000'000);
  script_.release(gone, 2);
  const auto all_stacks = [](Query query) {
    query.listing.blocks = true;
    return query;
  };
  const report::Report whole = report(all_stacks({}));
  const report::Report shown = report(all_stacks(without({"noisy"})));
  EXPECT_EQ(shown.totals.allocations, whole.totals.allocations);
  EXPECT_EQ(shown.totals.live_bytes, whole.totals.live_bytes);
  EXPECT_EQ(shown.totals.peak_live_bytes, whole.totals.peak_live_bytes);
  ASSERT_EQ(shown.stacks.size(), 1u);
  EXPECT_EQ(shown.stack_count, 1u);
  EXPECT_EQ(shown.stacks[0].live_bytes, 2037u);
  ASSERT_EQ(shown.ignored.rules.size(), 1u);
  const report::IgnoredCount ignored = shown.ignored.sum();
  EXPECT_EQ(ignored.stacks, 2u);
  EXPECT_EQ(ignored.allocations, 5u);
  EXPECT_EQ(ignored.live_blocks, 4u);
  EXPECT_EQ(ignored.live_bytes, 1205u);
  EXPECT_EQ(shown.stack_count + ignored.stacks, whole.stack_count);
  EXPECT_EQ(shown.stacks[0].live_bytes.counted() + ignored.live_bytes, shown.totals.live_bytes);
  EXPECT_EQ(shown.stacks[0].allocations.counted() + ignored.allocations, shown.totals.allocations);
  EXPECT_EQ(report::or_none(whole.blocks).size(), 7u);
  EXPECT_EQ(report::or_none(shown.blocks).size(), 3u);
  uint64_t allocations = 0;
  ASSERT_TRUE(shown.sizes);
  for (const report::SizeClass& size : shown.sizes->classes) allocations += size.allocations;
  EXPECT_EQ(allocations, 3u);
  EXPECT_EQ(shown.sizes->top.size(), 3u);
  EXPECT_EQ(shown.timeline.back().live_bytes, 2037u);
  EXPECT_EQ(whole.timeline.back().live_bytes, 3242u);
  const auto lived = [](const report::Report& report) {
    uint64_t blocks = 0;
    for (const report::LifetimeClass& lifetime : report::or_none(report.lifetimes)) blocks += lifetime.blocks;
    return blocks;
  };
  EXPECT_EQ(lived(whole), 1u);
  EXPECT_EQ(lived(shown), 0u);
  EXPECT_EQ(report::or_none(whole.threads).size(), 2u);
  EXPECT_EQ(report::or_none(shown.threads).size(), 1u);
}

TEST_F(IgnoredStacks, AreNoLeaksAndNeitherIsWhatIsLostBelowThem) {
  const report::Leaks whole = report({}).leaks;
  EXPECT_EQ(whole.definite.bytes, 207u);
  EXPECT_EQ(whole.indirect.bytes, 35u);
  const report::Report made = report(without({"noisy"}));
  EXPECT_EQ(made.leaks.definite.bytes, 7u);
  EXPECT_EQ(made.leaks.indirect.bytes, 0u);
  EXPECT_EQ(made.leaks.ignored.bytes, 235u);
  EXPECT_EQ(made.leaks.ignored.blocks, 4u);
  EXPECT_EQ(made.leaks.reachable.bytes, whole.reachable.bytes) << "an ignored block still holds another one";
  ASSERT_EQ(made.stacks.size(), 1u);
  EXPECT_EQ(made.stacks[0].leaks->ignored.bytes, 30u);
  EXPECT_EQ(made.stacks[0].leaks->below.bytes, 0u);
  const std::string text = text::render_text(made, report::View::kLeaks, {});
  EXPECT_NE(text.find("ignored                   235 B   in 4 blocks, lost\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n1 stack with 1.2 KiB in 4 blocks not freed is ignored (heaptap.conf:1)\n"), std::string::npos)
      << text;
}

TEST_F(IgnoredStacks, ThatAreSuppressedAreSuppressed) {
  Query query = without({"noisy"});
  ASSERT_TRUE(query.leaks.suppressions.add("leak:noisy", "known.supp").has_value());
  const report::Leaks leaks = report(query).leaks;
  EXPECT_EQ(leaks.suppressed.bytes, 235u);
  EXPECT_EQ(leaks.ignored.bytes, 0u);
  EXPECT_TRUE(leaks.unused_suppressions.empty());
}

TEST_F(IgnoredStacks, CountWithTheFirstRuleThatMatches) {
  const report::Report made = report(without({"nothing", "quiet", "outer"}));
  EXPECT_TRUE(made.stacks.empty());
  ASSERT_EQ(made.ignored.rules.size(), 3u);
  EXPECT_EQ(made.ignored.rules[0].count.stacks, 0u);
  EXPECT_EQ(made.ignored.rules[1].count.live_bytes, 2037u);
  EXPECT_EQ(made.ignored.rules[2].count.live_bytes, 1205u);
  EXPECT_EQ(made.ignored.rules[2].place, "heaptap.conf:3");
  const std::string json = json::render_json(made, report::View::kSummary);
  EXPECT_NE(json.find(R"("pattern":"outer")"), std::string::npos);
  const std::string text = text::render_text(made, report::View::kTop, {});
  EXPECT_NE(text.find("2 stacks with 3.2 KiB in 7 blocks not freed are ignored (heaptap.conf:2, heaptap.conf:3)"),
            std::string::npos)
      << text;
}

TEST_F(IgnoredStacks, OfWhatTheFilterLeavesOutAreNone) {
  noise(50, 2);
  Query query = without({"noisy"});
  query.filter.thread = 2;
  const report::Report made = report(query);
  EXPECT_TRUE(made.stacks.empty());
  EXPECT_EQ(made.ignored.sum().live_bytes, 50u);
  EXPECT_EQ(made.totals.live_bytes, 50u);
}

TEST_F(IgnoredStacks, AreNotInListsOfScans) {
  noise(3);
  calm(4);
  scan({{0, 1}, {3, 4}, {5, 6}}, {{5}});
  Query query = without({"noisy"});
  query.leaks.scan_list = true;
  query.leaks.since = 1;
  const report::Report made = report(query);
  ASSERT_EQ(made.scans->size(), 2u);
  EXPECT_EQ(made.scans->back().definite.bytes, 11u);
  EXPECT_EQ(made.scans->back().ignored.bytes, 238u);
  EXPECT_EQ(made.scan_changes->total.appeared().bytes, 4u);
  EXPECT_EQ(made.scan_changes->total.remained.bytes, 7u);
  EXPECT_EQ(made.scan_changes->stacks.size(), 1u);
  const std::string text = text::render_text(made, report::View::kScans, {});
  EXPECT_NE(text.find("IGNORED"), std::string::npos) << text;
}

TEST_F(IgnoredStacks, AreNotInListsOfWhatIsRetained) {
  for (const auto by : {query::RetainedBy::kBlock, query::RetainedBy::kStack}) {
    Query query = without({"noisy"});
    query.leaks.retained = by;
    const report::Report made = report(query);
    ASSERT_EQ(made.retained->entries.size(), 1u);
    EXPECT_EQ(made.retained->entries[0].own.bytes, 2000u);
    EXPECT_EQ(made.retained->held.bytes, 3000u);
  }
}

// As of a program that runs, of which what it called isn't asked.
TEST_F(IgnoredStacks, AreThoseOfTheScanWhereThereIsNothingElse) {
  Query query = without({"noisy"});
  query.counting.events = false;
  query.listing.leaks_only = true;
  const report::Report made = report(query);
  ASSERT_EQ(made.stacks.size(), 1u);
  EXPECT_EQ(made.totals.live_bytes, 3242u);
  EXPECT_EQ(made.ignored.sum().stacks, 1u);
  EXPECT_EQ(made.ignored.sum().live_bytes, 1205u);
  EXPECT_EQ(made.leaks.ignored.bytes, 235u);
}

TEST_F(IgnoredStacks, OfSeveralProcessesAddUp) {
  std::vector<report::Report> parts;
  for (int i = 0; i < 2; ++i) parts.push_back(report(without({"nothing", "noisy"})));
  const report::Report made = query::merge(std::move(parts), {});
  ASSERT_EQ(made.ignored.rules.size(), 2u);
  EXPECT_EQ(made.ignored.rules[1].count.live_bytes, 2 * 1205u);
  EXPECT_EQ(made.leaks.ignored.bytes, 2 * 235u);
}

TEST_F(IgnoredStacks, AreNothingWhereThereIsNoRule) {
  const report::Report made = report({});
  EXPECT_TRUE(made.ignored.rules.empty());
  EXPECT_EQ(json::render_json(made, report::View::kSummary).find("rules"), std::string::npos);
  EXPECT_EQ(findings::ignored_text(made), "");
}

}  // namespace
