// Lines that are folded: at spaces, below their text, and what is to be copied never.
#include "views/text/fold.h"

#include <gtest/gtest.h>

#include <string>

#include "analysis/findings/function_name.h"

namespace heaptap::text {
namespace {

TEST(Fold, LeavesWhatFits) {
  EXPECT_EQ(folded("short\n\n  other\n", 10), "short\n\n  other\n");
  EXPECT_EQ(folded("a line of any length", 0), "a line of any length");
}

TEST(Fold, FoldsBelowTheText) {
  EXPECT_EQ(folded("  one two three four\n", 12), "  one two\n    three\n    four\n");
  EXPECT_EQ(folded("--option  what it does\nnext\n", 20), "--option  what it\n          does\nnext\n");
  EXPECT_EQ(folded("  command [OPTION]   what it does and more\n", 38),
            "  command [OPTION]   what it does and\n                     more\n");
  EXPECT_EQ(folded(std::string(21, ' ') + "what it does and more\n", 38),
            std::string(21, ' ') + "what it does and\n" + std::string(21, ' ') + "more\n");
}

TEST(Fold, EachLineBeginsWithThePrefix) {
  EXPECT_EQ(folded("heaptap: one two three\n", 16, "heaptap: "), "heaptap: one two\nheaptap:   three\n");
}

TEST(Fold, WhatIsToBeCopiedStaysWhole) {
  EXPECT_EQ(folded("say `one two three`, please", 12), "say\n  `one two three`,\n  please");
  EXPECT_EQ(folded("heaptap: next:  heaptap show a b c", 12, "heaptap: "), "heaptap: next:  heaptap show a b c");
  EXPECT_EQ(folded("it`s one two three", 12), "it`s one two\n  three") << "a backtick alone quotes nothing";
}

TEST(Fold, CountsColumnsNotBytes) {
  EXPECT_EQ(folded("\x1b[1mone\x1b[0m two", 7), "\x1b[1mone\x1b[0m two");
  EXPECT_EQ(folded("äöü äöü", 7), "äöü äöü");
  EXPECT_EQ(folded("目录 目录", 8), "目录\n  目录");
}

TEST(Fold, TakesPieces) {
  Folding folding(12);
  EXPECT_EQ(folding.add("one two "), "");
  EXPECT_EQ(folding.add("three four\nfi"), "one two\n  three four\n");
  EXPECT_EQ(folding.add("ve\n"), "five\n");
  EXPECT_EQ(folding.rest(), "");
  EXPECT_EQ(folding.add("end"), "");
  EXPECT_EQ(folding.rest(), "end");
}

TEST(DisplayWidth, OfWideCharactersMarksAndDamage) {
  EXPECT_EQ(findings::shown_width("目录"), 4U);
  EXPECT_EQ(findings::shown_width("e\u0301"), 1U);
  EXPECT_EQ(findings::shown_width("\xff\xc3("), 3U);
  EXPECT_EQ(findings::shown_width("\x1b[31mred\x1b[0m"), 3U);
  EXPECT_LE(findings::shown_width(findings::cut_middle("目录目录目录目录", 9)), 9U);
  EXPECT_EQ(findings::cut_middle("目录目录目录目录", 9), "目...录");
}

}  // namespace
}  // namespace heaptap::text
