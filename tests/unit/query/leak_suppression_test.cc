// Suppressions in reports: what they hide, what they hid, which of them were of no use, and those that heaptap writes itself.
#include <fstream>

#include "scan_script.h"

namespace {

using namespace heaptap;
using query::Query;
using query::SuppressionSyntax;

}  // namespace

// Functions of the test that stand in stacks.
extern "C" {
[[gnu::noinline, gnu::used]] void known_leak() { asm volatile("nop; nop; nop"); }
[[gnu::noinline, gnu::used]] void new_leak() { asm volatile("nop; nop; nop;"); }
[[gnu::noinline, gnu::used]] void caller() { asm volatile("nop; nop; nop; nop"); }
}

namespace {

class LeakSuppressions : public test::ScanScript {
 protected:
  // Two blocks that known_leak lost, with one below the first, one that new_leak lost, one that may be lost, one that is held.
  void SetUp() override {
    add_own_module();
    block(100, {inside(known_leak), inside(caller)});
    block(30, {inside(new_leak), inside(caller)});
    block(100, {inside(known_leak), inside(caller)});
    block(7, {inside(new_leak), inside(caller)});
    block(1, {inside(known_leak), inside(caller)});
    block(1000, {inside(caller)});
    scan({{0, 1}, {5, 4, wire::PointerKind::kInterior}}, {{5}});
  }

  static Query with(std::string_view text) {
    Query query;
    EXPECT_TRUE(query.leaks.suppressions.add(text, "known.supp"));
    query.listing.leaks_only = true;
    return query;
  }
  static Query generate(SuppressionSyntax syntax, size_t limit = 0) {
    Query query;
    query.listing.leaks_only = true;
    query.listing.sort = query::SortKey::kLeakedBytes;
    query.listing.limit = limit;
    query.leaks.generate = syntax;
    return query;
  }
};

TEST_F(LeakSuppressions, HideALeakAndWhatIsLostBelowIt) {
  const report::Leaks before = report({}).leaks;
  EXPECT_EQ(before.definite.bytes, 207u);
  const report::Report after = report(with("leak:^known_leak$"));
  EXPECT_EQ(after.leaks.definite.bytes, 7u);
  EXPECT_EQ(after.leaks.indirect.bytes, 0u);
  EXPECT_EQ(after.leaks.possible.bytes, 0u);
  EXPECT_EQ(after.leaks.suppressed.blocks, 4u);
  EXPECT_EQ(after.leaks.suppressed.bytes, 231u);
  ASSERT_EQ(after.stacks.size(), 1u);
  EXPECT_EQ(after.stacks[0].leaks->suppressed.bytes, 30u);
}

TEST_F(LeakSuppressions, TellWhatEachHidAndWhichHidNothing) {
  const report::Report made =
      report(with("leak:nothing_like_it\n{\nmine\nMemcheck:Leak\nmatch-leak-kinds: "
                  "definite\nfun:malloc\nfun:known_leak\n}\nleak:known_leak\nleak:known_*\n"
                  "{\nheld\nMemcheck:Leak\nmatch-leak-kinds: reachable\nfun:malloc\n}\n"));
  ASSERT_EQ(made.leaks.suppressions.size(), 2u);
  EXPECT_EQ(made.leaks.suppressions[0].place, "known.supp:2");
  EXPECT_EQ(made.leaks.suppressions[0].text, "mine");
  EXPECT_EQ(made.leaks.suppressions[0].hidden.bytes, 230u);
  EXPECT_EQ(made.leaks.suppressions[1].place, "known.supp:9");
  EXPECT_EQ(made.leaks.suppressions[1].hidden.bytes, 1u);
  EXPECT_EQ(made.leaks.unused_suppressions,
            (std::vector<std::string>{"known.supp:1: leak:nothing_like_it", "known.supp:10: leak:known_*"}));
}

TEST_F(LeakSuppressions, FilesThatCantBeReadAreWrongUsage) {
  const auto missing = query::read_suppressions({"/no/such/file"});
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().kind, base::ErrorKind::kUsage);
  std::ofstream(supp_) << "leak:\n";
  const auto wrong = query::read_suppressions({supp_});
  ASSERT_FALSE(wrong.has_value());
  EXPECT_NE(wrong.error().message.find(supp_ + ":1"), std::string::npos);
  EXPECT_EQ(wrong.error().kind, base::ErrorKind::kUsage);
}

TEST_F(LeakSuppressions, ThatAreWrittenForTheListedLeaksHideExactlyThese) {
  for (const auto syntax : {SuppressionSyntax::kValgrind, SuppressionSyntax::kLsan}) {
    const std::string all = report(generate(syntax)).generated_suppressions;
    const report::Leaks none = report(with(all)).leaks;
    EXPECT_EQ(none.definite.blocks + none.indirect.blocks + none.possible.blocks, 0u) << all;
    EXPECT_TRUE(none.unused_suppressions.empty()) << all;
    const std::string first = report(generate(syntax, 1)).generated_suppressions;
    const report::Leaks rest = report(with(first)).leaks;
    EXPECT_EQ(rest.definite.bytes, 7u) << first;
    EXPECT_EQ(rest.suppressed.bytes, 231u) << first;
  }
}

TEST_F(LeakSuppressions, CanTBeWrittenWithoutAScan) {
  scans_.clear();
  const auto made = analyzed(generate(SuppressionSyntax::kLsan));
  ASSERT_FALSE(made.has_value());
  EXPECT_NE(made.error().message.find("no leak scan"), std::string::npos);
}

}  // namespace
