#include "views/shell/words.h"

#include <gtest/gtest.h>

namespace heaptap::shell {
namespace {

Words words_of(const char* text) {
  const auto line = parse_line(text);
  EXPECT_TRUE(line.has_value()) << text;
  return line ? line->words : Words();
}

std::string refused(const char* text) {
  const auto line = parse_line(text);
  EXPECT_FALSE(line.has_value()) << text;
  return line ? "" : line.error().message;
}

TEST(Words, StandBetweenBlanks) {
  EXPECT_EQ(words_of("  show \t leaks\r\n"), (Words{"show", "leaks"}));
  EXPECT_EQ(words_of(""), Words());
  EXPECT_EQ(words_of(" \t "), Words());
}

TEST(Words, QuotesKeepBlanksAndSigns) {
  EXPECT_EQ(words_of("mark 'after login'"), (Words{"mark", "after login"}));
  EXPECT_EQ(words_of("skip 'vector<int>' \"a|b\""), (Words{"skip", "vector<int>", "a|b"}));
  EXPECT_EQ(words_of("a'b c'd \"\""), (Words{"ab cd", ""}));
  EXPECT_EQ(words_of(R"("a\"b\\c\d" 'a\b' a\ b \>)"), (Words{R"(a"b\c\d)", R"(a\b)", "a b", ">"}));
}

TEST(Words, ASharpAloneBeginsAComment) {
  EXPECT_EQ(words_of("# show leaks"), Words());
  EXPECT_EQ(words_of("#show"), Words());
  EXPECT_EQ(words_of("show top # by usage"), (Words{"show", "top"}));
  EXPECT_EQ(words_of("report #12"), (Words{"report", "#12"}));
  EXPECT_EQ(words_of("show leaks --why #b12"), (Words{"show", "leaks", "--why", "#b12"}));
}

TEST(Words, RedirectionsAreTheLastOfALine) {
  const auto check = [](const char* text, Redirection redirection, const char* target) {
    const auto line = parse_line(text);
    ASSERT_TRUE(line.has_value()) << text;
    EXPECT_EQ(line->words, Words{"dump"});
    EXPECT_EQ(line->redirection, redirection) << text;
    EXPECT_EQ(line->target, target) << text;
  };
  check("dump > a.txt", Redirection::kNewFile, "a.txt");
  check("dump>a.txt # all", Redirection::kNewFile, "a.txt");
  check("dump >| 'a b'", Redirection::kReplace, "a b");
  check("dump >>a", Redirection::kAppend, "a");
  check("dump | grep 'a > b' | head -3 ", Redirection::kCommand, "grep 'a > b' | head -3");
}

TEST(Words, WhatIsNoLineIsRefused) {
  EXPECT_NE(refused("mark 'a").find("unterminated quote"), std::string::npos);
  EXPECT_NE(refused("mark \"a").find("unterminated quote"), std::string::npos);
  EXPECT_NE(refused("mark a\\").find("backslash"), std::string::npos);
  EXPECT_NE(refused("dump >").find("no file"), std::string::npos);
  EXPECT_NE(refused("dump |  ").find("no command"), std::string::npos);
  EXPECT_NE(refused("dump > a b").find("last"), std::string::npos);
  EXPECT_NE(refused("dump > a | b").find("last"), std::string::npos);
  EXPECT_NE(refused("> a").find("no command"), std::string::npos);
}

TEST(PartialLine, KnowsTheWordOfTheCursor) {
  PartialLine line = partial_line("show le");
  EXPECT_EQ(line.words, Words{"show"});
  EXPECT_EQ(line.word, "le");
  EXPECT_EQ(line.begin, 5u);
  line = partial_line("show ");
  EXPECT_EQ(line.words, Words{"show"});
  EXPECT_EQ(line.word, "");
  EXPECT_EQ(line.begin, 5u);
  line = partial_line("mark 'a b");
  EXPECT_EQ(line.word, "a b");
  EXPECT_EQ(line.quote, '\'');
  EXPECT_EQ(line.begin, 5u);
  line = partial_line("dump > fo");
  EXPECT_EQ(line.word, "fo");
  EXPECT_EQ(line.redirection, Redirection::kNewFile);
}

TEST(PartialLine, AWordThatIsTypedIsReadAsItself) {
  for (const char* word : {"plain", "two words", "it's", "a\\b", "vector<int>|x", "\"q\""}) {
    EXPECT_EQ(words_of(typed_word(word, 0).c_str()), Words{word});
    if (std::string(word).find('\'') == std::string::npos) {
      EXPECT_EQ(words_of((typed_word(word, '\'') + "'").c_str()), Words{word});
    }
    EXPECT_EQ(words_of((typed_word(word, '"') + '"').c_str()), Words{word});
  }
}

}  // namespace
}  // namespace heaptap::shell
