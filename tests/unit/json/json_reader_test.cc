#include "views/json/json_reader.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "views/json/json_writer.h"

namespace heaptap::json {
namespace {

using Kind = JsonValue::Kind;

void write(JsonWriter& json, const JsonValue& value) {
  switch (value.kind()) {
    case Kind::kNull:
      return json.value(nullptr);
    case Kind::kBool:
      return json.value(value.boolean());
    case Kind::kNumber:
      return json.raw(value.number());
    case Kind::kString:
      return json.value(value.string());
    case Kind::kArray:
      json.begin_array();
      for (const JsonValue& element : value.elements()) write(json, element);
      return json.end_array();
    case Kind::kObject:
      break;
  }
  const JsonObject object(json);
  for (const auto& [name, member] : value.members()) {
    json.key(name);
    write(json, member);
  }
}

std::string rewritten(std::string_view text) {
  const auto value = read_json(text);
  if (!value) return value.error().message;
  std::string written;
  JsonWriter json(written);
  write(json, *value);
  return written;
}

TEST(JsonReader, ReadsWhatAnotherLibraryReads) {
  for (const std::string_view text :
       {R"({"a":[1,-2.5e+3,0,true,false,null,"x"],"b":{"c":{}},"d":[]})", R"("\u0041\n\t\"\\\/\ud83d\ude00\u00e9")",
        " [ 1 , { \"a\" : 2 } ]\r\n", R"("äöü 漢字 😀")", "0", "-0.0", "1E9", R"({"a":1,"a":2})"}) {
    const auto tree = nlohmann::ordered_json::parse(text);
    EXPECT_EQ(nlohmann::ordered_json::parse(rewritten(text)), tree) << text;
  }
}

TEST(JsonReader, RefusesWhatAnotherLibraryRefuses) {
  for (const std::string_view text : {"",
                                      " ",
                                      "{",
                                      "[",
                                      "[1",
                                      "[1,]",
                                      "[,1]",
                                      "{\"a\"}",
                                      "{\"a\":}",
                                      "{\"a\":1,}",
                                      "{1:2}",
                                      "{a:1}",
                                      "nul",
                                      "truex",
                                      "01",
                                      "1.",
                                      ".5",
                                      "+1",
                                      "-",
                                      "1e",
                                      "1e+",
                                      "NaN",
                                      "Infinity",
                                      "'a'",
                                      "\"a",
                                      "\"\\x\"",
                                      "\"\\u12\"",
                                      "\"\\u12g4\"",
                                      "\"\\ud800\"",
                                      "\"\\ud800\\n\"",
                                      "\"\\ud800\\u0041\"",
                                      "\"\\udc00\"",
                                      "\"\x01\"",
                                      "\"\xff\"",
                                      "\"\xc0\x80\"",
                                      "\"\xed\xa0\x80\"",
                                      "\"\xf4\x90\x80\x80\"",
                                      "\"\xe6\xbc\"",
                                      "1 2",
                                      "{} {}",
                                      "// 1\n1"}) {
    EXPECT_FALSE(nlohmann::json::accept(text)) << text;
    EXPECT_FALSE(read_json(text)) << text;
  }
  EXPECT_FALSE(read_json(std::string_view("1\0", 2)));
}

TEST(JsonReader, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(rewritten("[1, 2"), "not JSON: a comma or ] is missing at byte 5");
  EXPECT_EQ(rewritten("\"\xff\""), "not JSON: invalid UTF-8 at byte 1");
  EXPECT_EQ(rewritten("[tru]"), "not JSON: an unknown value at byte 1");
}

TEST(JsonReader, BoundsTheDepth) {
  const auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(read_json(nested(kMaxJsonDepth)));
  EXPECT_FALSE(read_json(nested(kMaxJsonDepth + 1)));
  EXPECT_FALSE(read_json(std::string(1 << 20, '[')));
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_EQ(rewritten(objects), "not JSON: nested too deep at byte 160");
}

TEST(JsonReader, WholeNumbersAreThoseThatAllReadersReadAlike) {
  const auto number = [](std::string_view text) { return read_json(text)->whole_number(); };
  EXPECT_EQ(number("12"), 12);
  EXPECT_EQ(number("12.0"), 12);
  EXPECT_EQ(number("1e3"), 1000);
  EXPECT_EQ(number("9007199254740992"), uint64_t{1} << 53);
  for (const std::string_view text : {"-1", "1.5", "9007199254740994", "1e400", "\"12\"", "null", "true", "[]"})
    EXPECT_EQ(number(text), std::nullopt) << text;
}

TEST(JsonReader, MembersAreFoundByName) {
  const auto value = read_json(R"({"a":1,"b":2,"a":3})");
  ASSERT_TRUE(value);
  EXPECT_EQ(value->find("a")->number(), "3");
  EXPECT_EQ(value->find("c"), nullptr);
  EXPECT_EQ(read_json("[1]")->find("a"), nullptr);
}

TEST(JsonReader, AgreesWithAnotherLibraryOnAnyBytes) {
  constexpr std::string_view kBytes = "{}[]\",:\\u0d8 1e.-tnfalsr\x01\xc3\xa9";
  std::mt19937 random(1);
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (size_t size = random() % 12; size != 0; --size) text += kBytes[random() % kBytes.size()];
    EXPECT_EQ(read_json(text).has_value(), nlohmann::json::accept(text)) << text;
  }
}

}  // namespace
}  // namespace heaptap::json
