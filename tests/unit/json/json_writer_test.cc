#include "views/json/json_writer.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

namespace heaptap::json {
namespace {

using Tree = nlohmann::ordered_json;

// What another library writes.
std::string dumped(const Tree& tree, int indent = -1) {
  return tree.dump(indent, ' ', false, Tree::error_handler_t::replace);
}

template <typename Value>
std::string written(const Value& value) {
  std::string text;
  JsonWriter(text).value(value);
  return text;
}

std::string string_of(std::string_view value) {
  std::string text;
  append_json_string(text, value);
  return text;
}

TEST(JsonWriter, WritesStringsLikeTheOtherLibrary) {
  const std::string cases[] = {
      "", "abc", "\"\\/", "\b\f\n\r\t\v", std::string("\0\x01\x1f\x20\x7f", 5), "ä€😀",
      // Cut off, in the middle and at the end.
      "\xc3", "\xc3(", "\xe2\x82", "\xe2\x82(", "\xe2(", "\xf0\x9f\x98", "\xf0\x9f\x98(", "\xf0\x9f(",
      // Nothing begins so.
      "\x80", "\xbf\xbf", "\xc0\x80", "\xc1\xbf", "\xf5\x80\x80\x80", "\xfe\xff",
      // Longer than needed; surrogates; beyond U+10FFFF; the outermost that are right.
      "\xe0\x80\x80", "\xe0\x9f\xbf", "\xf0\x80\x80\x80", "\xf0\x8f\xbf\xbf", "\xed\xa0\x80", "\xed\xbf\xbf",
      "\xed\xa0\xbd\xed\xb8\x80", "\xf4\x90\x80\x80", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf",
      "\xee\x80\x80", "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf",
      // A character begins where another one breaks off.
      "\xe2\xe2\x82\xac", "\xf0\x9f\xc3\xa4", "\xed\xed\xed", "\xf4\xf4\x8f"};
  for (const std::string& each : cases) EXPECT_EQ(string_of(each), dumped(each)) << testing::PrintToString(each);
}

TEST(JsonWriter, WritesAnyBytesLikeTheOtherLibrary) {
  std::mt19937 random(1);
  // Bytes that matter are frequent.
  const std::string special =
      "\"\\\n\x01\x7f\x80\x8f\x90\x9f\xa0\xbf\xc0\xc1\xc2\xdf\xe0\xe1\xec\xed\xee\xef\xf0\xf1\xf3\xf4\xf5\xff";
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes(random() % 20, '\0');
    for (char& byte : bytes)
      byte = random() % 3 == 0 ? static_cast<char>(random()) : special[random() % special.size()];
    ASSERT_EQ(string_of(bytes), dumped(bytes)) << testing::PrintToString(bytes);
  }
}

TEST(JsonWriter, WritesLongStringsLikeTheOtherLibrary) {
  std::mt19937 random(2);
  const std::string characters[] = {"a", "plain text ", "ä", "€", "😀", "\n", "\"", "\xe2\x82", "\xff"};
  for (int i = 0; i < 200; ++i) {
    std::string text;
    while (text.size() < 2000) text += characters[random() % std::size(characters)];
    ASSERT_EQ(string_of(text), dumped(text));
  }
}

TEST(JsonWriter, WritesWholeNumbers) {
  EXPECT_EQ(written(0), "0");
  EXPECT_EQ(written(-1), "-1");
  EXPECT_EQ(written(uint8_t{200}), "200");
  EXPECT_EQ(written(std::numeric_limits<uint64_t>::max()), dumped(std::numeric_limits<uint64_t>::max()));
  EXPECT_EQ(written(std::numeric_limits<int64_t>::min()), dumped(std::numeric_limits<int64_t>::min()));
}

TEST(JsonWriter, WritesOtherNumbersLikeTheOtherLibrary) {
  const double cases[] = {0.0,
                          -0.0,
                          1.0,
                          -1.0,
                          0.1,
                          0.5,
                          1.5,
                          100.0,
                          123456.789,
                          1e14,
                          1e15,
                          1e16,
                          1e-3,
                          1e-4,
                          1e-5,
                          1e100,
                          1e-100,
                          1.5e300,
                          999999999999999.0,
                          9999999999999998.0,
                          1.25e-4,
                          1.25e-5,
                          123456789012345.6,
                          5e-324,
                          1.7976931348623157e308,
                          2.2250738585072014e-308,
                          std::numeric_limits<double>::infinity(),
                          std::numeric_limits<double>::quiet_NaN()};
  for (const double each : cases) EXPECT_EQ(written(each), dumped(each)) << each;
}

// The other library sometimes has a digit more than is needed, or other last ones that mean the same number.
TEST(JsonWriter, WritesAnyNumberInItsFewestDigits) {
  std::mt19937_64 random(3);
  int different = 0;
  for (int i = 0; i < 20'000; ++i) {
    const double value =
        i % 2 == 0 ? std::bit_cast<double>(random()) : static_cast<double>(random() % 1'000'000'000) / 1024;
    const std::string text = written(value);
    const std::string other = dumped(value);
    different += text != other ? 1 : 0;
    ASSERT_LE(text.size(), other.size()) << other;
    if (text == "null") continue;
    ASSERT_EQ(std::bit_cast<uint64_t>(std::strtod(text.c_str(), nullptr)), std::bit_cast<uint64_t>(value)) << text;
  }
  EXPECT_LT(different, 200);
}

TEST(JsonWriter, WritesWhatIsNoNumberOrText) {
  EXPECT_EQ(written(true), "true");
  EXPECT_EQ(written(false), "false");
  EXPECT_EQ(written(nullptr), "null");
  EXPECT_EQ(written(std::optional<uint64_t>()), "null");
  EXPECT_EQ(written(std::optional<uint64_t>(7)), "7");
  EXPECT_EQ(written(std::optional<std::string>("x")), "\"x\"");
  EXPECT_EQ(written(std::optional<bool>(true)), "true");
  EXPECT_EQ(written(JsonHex{0}), "\"0x0\"");
  EXPECT_EQ(written(JsonHex{~uint64_t{0}}), "\"0xffffffffffffffff\"");
}

// Writes a tree of the other library.
void write_tree(JsonWriter& json, const Tree& tree) {
  if (tree.is_object()) {
    const JsonObject object(json);
    for (const auto& [name, value] : tree.items()) write_tree(json.key(name), value);
  } else if (tree.is_array()) {
    json.begin_array();
    for (const Tree& value : tree) write_tree(json, value);
    json.end_array();
  } else if (tree.is_string()) {
    json.value(tree.get<std::string>());
  } else if (tree.is_boolean()) {
    json.value(tree.get<bool>());
  } else if (tree.is_number_unsigned()) {
    json.value(tree.get<uint64_t>());
  } else {
    json.value(nullptr);
  }
}

std::string written_tree(const Tree& tree, JsonLayout layout) {
  std::string text;
  JsonWriter json(text, layout);
  write_tree(json, tree);
  return text;
}

TEST(JsonWriter, LaysTreesOutLikeTheOtherLibrary) {
  const char* const cases[] = {"{}",
                               "[]",
                               "7",
                               R"({"a":1})",
                               R"([1,2,[],{},[[]],[{}]])",
                               R"({"a":{},"b":[],"c":{"d":[1,{"e":null}],"f":"x"},"g\n\"":true})",
                               R"([[[[[[1],2],3],4],5],6])"};
  for (const char* each : cases) {
    const Tree tree = Tree::parse(each);
    EXPECT_EQ(written_tree(tree, JsonLayout::kOneLine), dumped(tree));
    EXPECT_EQ(written_tree(tree, JsonLayout::kLinePerEntry), dumped(tree, 1));
  }
}

Tree random_tree(std::mt19937& random, int depth) {
  const auto kind = random() % (depth == 0 ? 2 : 4);
  if (kind == 0) return random();
  if (kind == 1) return std::string(random() % 4, static_cast<char>(random()));
  Tree tree = kind == 2 ? Tree::array() : Tree::object();
  const auto count = random() % 5;
  for (size_t i = 0; i < count; ++i) {
    if (kind == 2)
      tree.push_back(random_tree(random, depth - 1));
    else
      tree[std::to_string(i)] = random_tree(random, depth - 1);
  }
  return tree;
}

TEST(JsonWriter, LaysAnyTreeOutLikeTheOtherLibrary) {
  std::mt19937 random(4);
  for (int i = 0; i < 2'000; ++i) {
    const Tree tree = random_tree(random, 6);
    ASSERT_EQ(written_tree(tree, JsonLayout::kOneLine), dumped(tree));
    ASSERT_EQ(written_tree(tree, JsonLayout::kLinePerEntry), dumped(tree, 1));
  }
}

TEST(JsonWriter, MixesLayouts) {
  std::string text;
  JsonWriter json(text);
  json.begin_object(JsonLayout::kLinePerEntry);
  json.key("none").begin_array(JsonLayout::kLinePerEntry);
  json.end_array();
  json.key("line").values(std::vector<uint32_t>{1, 2});
  json.key("lines").begin_array(JsonLayout::kLinePerEntry);
  for (const int each : {1, 2}) {
    const JsonObject object(json);
    json.member("a", each);
    json.key("b").begin_array(JsonLayout::kLinePerEntry);  // in one line, as what it is in
    json.value(each);
    json.end_array();
  }
  json.end_array();
  json.member("last", "x");
  json.end_object();
  EXPECT_EQ(text, R"({
 "none": [],
 "line": [1,2],
 "lines": [
  {"a":1,"b":[1]},
  {"a":2,"b":[2]}
 ],
 "last": "x"
})");
}

TEST(JsonWriter, TakesJsonAsItIs) {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  json.key("a").raw("[1, 2]");
  json.raw(R"("b":3,"c":4)");
  json.member("d", 5);
  json.end_object();
  EXPECT_EQ(text, R"({"a":[1, 2],"b":3,"c":4,"d":5})");
}

TEST(JsonWriter, BeginsLinesWhereTheyAreAskedFor) {
  std::string text;
  JsonWriter json(text);
  json.begin_array();
  json.entry_on_line();
  json.value(1);
  json.later_entry_on_line();
  json.value(2);
  json.value(3);
  json.line_break();
  json.end_array();
  EXPECT_EQ(text, "[\n1,\n2,3\n]");
}

TEST(JsonWriter, BeginsNoLineWithTheFirstEntryWhereLaterOnesAreAskedFor) {
  std::string text;
  JsonWriter json(text);
  json.begin_array();
  for (const int each : {1, 2}) {
    json.later_entry_on_line();
    json.value(each);
  }
  json.end_array();
  EXPECT_EQ(text, "[1,\n2]");
}

// As it is handed on in pieces.
TEST(JsonWriter, GoesOnInAnEmptiedText) {
  std::string text;
  std::string all;
  JsonWriter json(text, JsonLayout::kLinePerEntry);
  const auto hand_on = [&] {
    all += text;
    text.clear();
  };
  json.begin_array();
  hand_on();
  json.value(1);
  hand_on();
  json.value(2);
  hand_on();
  json.end_array();
  hand_on();
  EXPECT_EQ(all, "[\n 1,\n 2\n]");
}

}  // namespace
}  // namespace heaptap::json
