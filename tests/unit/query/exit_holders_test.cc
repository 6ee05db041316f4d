// Who held lost blocks until destructors and exit handlers ran: from traces with scans that are made by hand.
#include <gmock/gmock.h>

#include "analysis/report/view.h"
#include "scan_script.h"
#include "views/text/render_text.h"

extern "C" {
[[gnu::noinline, gnu::used]] void make_page() { asm volatile("nop; nop; nop; nop; nop"); }
[[gnu::used]] void* page_cache[4] = {nullptr, nullptr, nullptr, nullptr};
[[gnu::used]] void* small_cache = nullptr;
}

namespace {

using namespace heaptap;
using query::Query;

class ExitHolders : public test::ScanScript {
 protected:
  void SetUp() override { add_own_module(); }

  uint32_t page(uint64_t size) { return block(size, {inside(make_page)}); }
  // A scan where exit began, of blocks that these variables lead to, and one of the end, where nothing leads to them.
  void lose(const std::vector<test::GraphRoot>& roots, const std::vector<void**>& variables) {
    model::HeapScan& start = scan({}, roots);
    start.reason = model::ScanReason::kExitBegins;
    for (size_t i = 0; i < variables.size(); ++i) start.roots[i].address = reinterpret_cast<uint64_t>(variables[i]);
    scan({}, {}).reason = model::ScanReason::kEnd;
  }

  std::optional<report::ExitHolder> holder_of_the_stack() {
    const report::Report made = report({.listing = {.leaks_only = true}});
    text_ = text::render_text(made, report::View::kLeaks, {});
    const bool has_one = made.stacks.size() == 1 && made.stacks[0].leaks && made.stacks[0].leaks->exit_holder;
    return has_one ? std::optional(*made.stacks[0].leaks->exit_holder) : std::nullopt;
  }

  std::string text_;
};

TEST_F(ExitHolders, TheVariableThatLedToTheBlocksOfAStackIsNamed) {
  page(100);
  page(200);
  lose({{0}, {1}}, {&page_cache[0], &page_cache[1]});
  const auto holder = holder_of_the_stack();
  ASSERT_TRUE(holder.has_value());
  EXPECT_EQ(holder->variable.name, "page_cache");
  EXPECT_EQ(holder->held.blocks, 2u);
  EXPECT_EQ(holder->held.bytes, 300u);
  EXPECT_THAT(text_, testing::ContainsRegex("\n      held by global page_cache( \\(.*\\))? until its destructor or an "
                                            "exit handler ran\n"));
  EXPECT_THAT(text_, testing::HasSubstr("Scan 2 of 2 at the program's end"));
}

TEST_F(ExitHolders, OfSeveralVariablesTheOneThatHeldMostIs) {
  page(100);
  page(200);
  lose({{0}, {1}}, {&page_cache[0], &small_cache});
  const auto holder = holder_of_the_stack();
  ASSERT_TRUE(holder.has_value());
  EXPECT_EQ(holder->variable.name, "small_cache");
  EXPECT_EQ(holder->held.bytes, 200u);
  EXPECT_THAT(text_, testing::HasSubstr("\n      200 B of it held by global small_cache"));
}

TEST_F(ExitHolders, AStackThatLedThereIsNone) {
  page(100);
  lose({{0, wire::PointerKind::kStart, wire::RootKind::kStack}}, {});
  EXPECT_FALSE(holder_of_the_stack().has_value());
  EXPECT_THAT(text_, testing::Not(testing::HasSubstr("held by")));
}

TEST_F(ExitHolders, AScanOnRequestNamesNone) {
  page(100);
  lose({{0}}, {&page_cache[0]});
  scans_[0].reason = model::ScanReason::kAsked;
  EXPECT_FALSE(holder_of_the_stack().has_value());
}

TEST_F(ExitHolders, TheWayFromTheVariableIsToldOfABlock) {
  page(100);
  lose({{0}}, {&page_cache[0]});
  Query query;
  query.leaks.why = query::parse_block_question("#b1").value_or(query::BlockQuestion{});
  const std::string text = text::render_text(report(query), report::View::kHolders, {});
  EXPECT_THAT(text,
              testing::HasSubstr("\nUntil destructors and exit handlers ran it was reachable:\n  global page_cache"));
}

TEST_F(ExitHolders, TheScanWhereExitBeganCanBeAskedFor) {
  page(100);
  lose({{0}}, {&page_cache[0]});
  const report::Report made = report({.leaks = {.scan = 1}});
  EXPECT_TRUE(made.leaks.scan.at_exit_start);
  EXPECT_FALSE(made.leaks.scan.at_end);
  EXPECT_EQ(made.leaks.definite.blocks, 0u);
  EXPECT_THAT(text::render_text(made, report::View::kLeaks, {}), testing::HasSubstr("Scan 1 of 2 as exit began: "));
}

}  // namespace
