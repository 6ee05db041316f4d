#include "analysis/patterns/pattern.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "analysis/patterns/name_filter.h"

namespace heaptap::patterns {
namespace {

bool matches(std::string_view pattern, std::string_view text) {
  const auto made = Pattern::create(pattern);
  EXPECT_TRUE(made.has_value()) << pattern << ": " << made.error().message;
  return made && made->matches(text);
}

std::string refusal(std::string_view pattern) {
  const auto made = Pattern::create(pattern);
  EXPECT_FALSE(made.has_value()) << pattern;
  return made ? "" : made.error().message;
}

TEST(Pattern, FindsWhatARegularExpressionSays) {
  const std::tuple<const char*, const char*, bool> cases[] = {
      {"", "", true},
      {"", "abc", true},
      {"b", "abc", true},
      {"^b", "abc", false},
      {"c$", "abc", true},
      {"^abc$", "abc", true},
      {"^$", "", true},
      {"^$", "a", false},
      {"a.c", "xabcx", true},
      {"a.c", "ac", false},
      {"ab*c", "ac", true},
      {"ab*c", "abbbc", true},
      {"ab+c", "ac", false},
      {"ab?c", "abbc", false},
      {"^(ab|cd)*$", "abcdab", true},
      {"^(ab|cd)*$", "abcda", false},
      {"^(?:a|b)c", "bc", true},
      {"a|", "x", true},
      {"^a{2}$", "aa", true},
      {"^a{2}$", "aaa", false},
      {"^a{2,}$", "aaaaa", true},
      {"^a{2,}$", "a", false},
      {"^a{1,3}$", "aaa", true},
      {"^a{1,3}$", "aaaa", false},
      {"^a{0,0}$", "", true},
      {"^(a*)*$", "aaab", false},
      {"^(a*)*b$", "aaab", true},
      {"^(a?){3}$", "aa", true},
      {"[a-c]x", "bx", true},
      {"[^a-c]x", "bx", false},
      {"[]a]", "]", true},
      {"[a-]", "-", true},
      {"[[:digit:]_]+$", "x_12", true},
      {"^[[:alpha:]]+$", "ab1", false},
      {"[\\d.]", ".", true},
      {R"(\d\D\w\W\s\S)", "1a_- x", true},
      {R"(\bmake\b)", "a make b", true},
      {R"(\bmake\b)", "remake", false},
      {R"(\Bake)", "make", true},
      {R"(operator\(\))", "operator()(int)", true},
      {R"(a\.c)", "abc", false},
      {R"(\t)", "\t", true},
      {"a+?b", "aab", true},
      {"lib(ssl|crypto)\\.so", "/usr/lib/libcrypto.so.3", true},
      {"^é{2}$", "éé", true},
      {"a]b}", "a]b}", true},
  };
  for (const auto& [pattern, text, expected] : cases)
    EXPECT_EQ(matches(pattern, text), expected) << pattern << " " << text;
}

TEST(Pattern, SaysWhatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"f(", "missing )"}, {"f)", "unexpected )"}, {"[a", "missing ]"}, {"*a", "no argument for repetition"},
      {"a**", "**"},       {"a\\", "\\"},          {"(a)\\1", "\\1"},   {"(?=a)", "(?="},
      {"[z-a]", "z-a"},    {"\\q", "\\q"},
  };
  for (const auto& [pattern, message] : cases)
    EXPECT_NE(refusal(pattern).find(message), std::string::npos) << pattern << ": " << refusal(pattern);
}

// Where an expression tries all ways this takes longer than there is time.
TEST(Pattern, TakesTimeInProportionToTheText) {
  EXPECT_FALSE(matches("^(a*)*$", std::string(100000, 'a') + "b"));
  EXPECT_FALSE(matches("(x+x+)+y", std::string(20000, 'x')));
  EXPECT_TRUE(matches("^(a|aa)+$", std::string(100000, 'a')));
}

TEST(Pattern, BoundsWhatItIsMadeOf) {
  EXPECT_NE(refusal("((a{255}){255}){255}").find("repetition"), std::string::npos) << refusal("((a{255}){255}){255}");
  EXPECT_NE(refusal("(\\pL{30}){30}").find("too large"), std::string::npos) << refusal("(\\pL{30}){30}");
  EXPECT_NE(refusal(std::string(1001, 'a')).find("1000"), std::string::npos);
  EXPECT_TRUE(Pattern::create("(((a{10}){10}){10})").has_value());
}

TEST(Pattern, TakesAnyBytes) {
  EXPECT_TRUE(matches("a\xff.", "xa\xff\xfe"));
  EXPECT_FALSE(matches("^.$", "\xff\xfe"));
}

TEST(NameFilter, IsAPartOrAnExpression) {
  EXPECT_TRUE(NameFilter("").matches("any"));
  EXPECT_TRUE(NameFilter("std::vector<int*>").matches("x<std::vector<int*>>"));
  EXPECT_TRUE(NameFilter("new[]").matches("operator new[](unsigned long)"));
  EXPECT_FALSE(NameFilter("plain").matches("other"));
}

}  // namespace
}  // namespace heaptap::patterns
