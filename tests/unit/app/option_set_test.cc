#include "apps/heaptap/options/option_set.h"

#include <gtest/gtest.h>

namespace heaptap::app {
namespace {

using Words = std::vector<std::string>;

// What is wrong with the words; empty: they are accepted.
std::string wrong(OptionSet& set, const Words& words) {
  const auto outcome = set.parse(words);
  return outcome ? "" : outcome.error().message;
}

std::string help_of(OptionSet& set) {
  const auto outcome = set.parse({"--help"});
  EXPECT_TRUE(outcome.has_value() && *outcome == OptionSet::Outcome::kHelpAsked);
  return set.help(80);
}

TEST(OptionSet, StoresValuesOfEachKind) {
  OptionSet set("test", "Test", "heaptap test");
  bool json = false;
  int calls = 0;
  std::string output;
  uint64_t size = 0;
  std::optional<uint64_t> limit;
  uint64_t time = 0;
  uint32_t count = 0;
  std::string color;
  Words trace;
  set.flag("--json", json, "As JSON");
  set.flag("-q,--quiet", [&calls] { ++calls; }, "Quiet");
  set.text("-o,--output", output, "File");
  set.size("--size", size, "Size");
  set.size("--limit", limit, "Limit");
  set.duration("--time", time, "Time");
  set.number("-n,--count", count, "Count");
  set.choice("--color", {"red", "blue"}, [&color](const std::string& word) { color = word; }, "Colour");
  set.positional("TRACE", trace, "Traces");
  EXPECT_EQ(
      wrong(set, {"a", "--json", "-qn5", "-o", "x", "--size=2K", "--limit", "0", "--time", "2s", "--color=blue", "b"}),
      "");
  EXPECT_TRUE(json);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(output, "x");
  EXPECT_EQ(size, 2048u);
  EXPECT_EQ(limit, 0u);
  EXPECT_EQ(time, 2'000'000'000u);
  EXPECT_EQ(count, 5u);
  EXPECT_EQ(color, "blue");
  EXPECT_EQ(trace, (Words{"a", "b"}));
}

TEST(OptionSet, KnowsWhatWasGiven) {
  OptionSet set("test", "Test", "heaptap test");
  uint64_t time = 0;
  const Option given = set.duration("--time", time, "Time");
  const Option other = set.duration("--other", time, "Time");
  EXPECT_EQ(wrong(set, {"--time", "0s"}), "");
  EXPECT_TRUE(given.is_given());
  EXPECT_TRUE(set.is_given("--time"));
  EXPECT_FALSE(other.is_given());
  EXPECT_FALSE(set.is_given("--there-is-none"));
}

TEST(OptionSet, AListHasOneValueForEachTime) {
  OptionSet set("test", "Test", "heaptap test");
  Words directories;
  Words parsed;
  Words rest;
  set.list("--directory", directories, "Directories");
  const auto take = [&parsed](const std::string& word) -> base::Result<> {
    if (word == "bad") return base::fail("'{}' isn't good", word);
    parsed.push_back(word);
    return {};
  };
  set.parsed_list("-k,--kind", take, "Kinds").separated_by(',');
  set.positional("REST", rest, "Rest");
  EXPECT_EQ(wrong(set, {"--directory", "a", "b", "--directory=c,d", "-k", "e,f", "-k", "g", "h"}), "");
  EXPECT_EQ(directories, (Words{"a", "c,d"}));
  EXPECT_EQ(parsed, (Words{"e", "f", "g"}));
  EXPECT_EQ(rest, (Words{"b", "h"}));
  EXPECT_EQ(wrong(set, {"-k", "x,bad"}), "--kind: 'bad' isn't good");
}

TEST(OptionSet, AValueThatIsLeftOutHasADefault) {
  for (const auto& [words, expected] :
       {std::pair{Words{}, ""}, std::pair{Words{"--by"}, "block"}, std::pair{Words{"--by=type"}, "type"}}) {
    OptionSet set("test", "Test", "heaptap test");
    std::string by;
    std::string rest;
    set.optional_text("--by", "block", by, "By");
    set.positional("REST", rest, "Rest");
    EXPECT_EQ(wrong(set, words), "");
    EXPECT_EQ(by, expected);
  }
}

TEST(OptionSet, AParsedValueThatIsLeftOutHasADefault) {
  std::string taken;
  const auto take = [&taken](const std::string& text) -> base::Result<> {
    if (text == "bad") return base::fail("it is bad");
    taken = text;
    return {};
  };
  const auto outcome_of = [&](const Words& words) {
    taken.clear();
    OptionSet set("test", "Test it", "heaptap test");
    set.optional_parsed("--level", "low", take, "Level");
    const auto parsed = set.parse(words);
    return parsed ? taken : parsed.error().message;
  };
  EXPECT_EQ(outcome_of({}), "");
  EXPECT_EQ(outcome_of({"--level"}), "low");
  EXPECT_EQ(outcome_of({"--level=high"}), "high");
  EXPECT_EQ(outcome_of({"--level=bad"}), "--level: it is bad");
}

TEST(OptionSet, SaysWhatIsWrong) {
  OptionSet set("test", "Test", "heaptap test");
  bool json = false;
  std::string output;
  uint32_t count = 0;
  uint64_t size = 0;
  const Option json_option = set.flag("-j,--json", json, "As JSON");
  set.flag("--html", [] {}, "As HTML").excludes(json_option);
  set.text("-o,--output", output, "File").check([](const std::string& text) -> base::Result<> {
    if (text == "/") return base::fail("'{}' is a directory", text);
    return {};
  });
  set.number("-n,--count", count, "Count", 1, 9);
  set.size("--size", size, "Size");
  set.choice("--color", {"red", "blue"}, [](const std::string&) {}, "Colour");
  EXPECT_EQ(wrong(set, {"--jsn"}), "unknown option --jsn");
  EXPECT_EQ(wrong(set, {"x", "y"}), "unexpected argument 'x'");
  EXPECT_EQ(wrong(set, {"x", "--jsn", "y"}), "unknown option --jsn");
  EXPECT_EQ(wrong(set, {"-j=3"}), "unexpected '=3' after a one-letter option");
  EXPECT_EQ(wrong(set, {"-o"}), "--output needs a value");
  EXPECT_EQ(wrong(set, {"-o", "/"}), "--output: '/' is a directory");
  EXPECT_EQ(wrong(set, {"--json=maybe"}), "--json takes no value");
  EXPECT_EQ(wrong(set, {"-n", "0"}), "--count: '0' is not a number from 1 to 9");
  EXPECT_EQ(wrong(set, {"--color", "green"}), "--color: 'green' is not one of red, blue");
  EXPECT_EQ(wrong(set, {"--json", "--html"}), "--json and --html can't be given together");
  EXPECT_TRUE(wrong(set, {"--size", "many"}).starts_with("--size: "));
}

TEST(OptionSet, HelpShowsNamesValuesAndTexts) {
  OptionSet set("test", "Test it", "heaptap test [TRACE...] [options]");
  std::string text;
  Words words;
  set.positional("TRACE", words, "The traces");
  set.text("-o,--output", text, "Write to FILE").value_name("FILE");
  set.list("--omit", words, "Leave OBJECT out").value_name("OBJECT");
  set.optional_text("--by", "block", text, "By block").offer({"block", "type"});
  set.optional_text("--json", "-", text, "As JSON");
  set.footer("The end\n");
  EXPECT_EQ(help_of(set),
            "Test it\n"
            "\n"
            "Usage: heaptap test [TRACE...] [options]\n"
            "\n"
            "Arguments:\n"
            "  TRACE                     The traces\n"
            "\n"
            "Other:\n"
            "  -o, --output FILE         Write to FILE\n"
            "  --omit OBJECT             Leave OBJECT out; repeatable\n"
            "  --by[=block|type]         By block\n"
            "  --json[=FILE]             As JSON\n"
            "  -h, --help                Print this help\n"
            "\n"
            "The end\n");
}

TEST(OptionSet, HelpHasTheMostUsedOptionsFirstAndEachInItsGroup) {
  OptionSet set("test", "Test it", "heaptap test");
  bool flag = false;
  std::string trace;
  set.group(OptionGroup::kReport);
  set.flag("-f,--first", flag, "First");
  set.group(OptionGroup::kOutput);
  set.positional("TRACE", trace, "The trace");
  set.flag("--second", flag, "Second");
  set.flag("--third", flag, "Third");
  set.group(OptionGroup::kReport);
  set.flag("--fourth", flag, "Fourth");
  set.most_used({"--third", "-f"});
  EXPECT_EQ(help_of(set),
            "Test it\n"
            "\n"
            "Usage: heaptap test\n"
            "\n"
            "Arguments:\n"
            "  TRACE                     The trace\n"
            "\n"
            "Most used:\n"
            "  --third                   Third\n"
            "  -f, --first               First\n"
            "\n"
            "Output:\n"
            "  --second                  Second\n"
            "  --third                   Third\n"
            "\n"
            "Report:\n"
            "  -f, --first               First\n"
            "  --fourth                  Fourth\n"
            "\n"
            "Other:\n"
            "  -h, --help                Print this help\n");
}

TEST(OptionSet, HelpIsFoldedBelowItsColumn) {
  OptionSet set("test", "Test it", "heaptap test");
  std::string text;
  set.text("--an-option-of-many-words", text, "Text behind a name that is long").value_name("WORD");
  set.text("--short", text, "A text of words that need more than one line").value_name("WORD");
  ASSERT_TRUE(set.parse({"--help"}).has_value());
  EXPECT_EQ(set.help(50),
            "Test it\n"
            "\n"
            "Usage: heaptap test\n"
            "\n"
            "Other:\n"
            "  --an-option-of-many-words WORD\n"
            "                    Text behind a name that is\n"
            "                    long\n"
            "  --short WORD      A text of words that need more\n"
            "                    than one line\n"
            "  -h, --help        Print this help\n");
}

TEST(OptionSet, DescribesItsOptionsForCompletions) {
  OptionSet set("test", "Test it", "heaptap test [TRACE...] [options]");
  bool flag = false;
  std::string text;
  set.positional("TRACE", text, "The trace");
  set.group(OptionGroup::kOutput);
  set.flag("-q,--quiet", flag, "Quiet");
  set.group(OptionGroup::kReport);
  set.choice("--color", {"red", "blue"}, [](const std::string&) {}, "Colour").value_name("NAME");
  set.optional_text("--json", "-", text, "JSON");
  set.optional_text("--by", "block", text, "By").offer({"block", "type"});
  help_of(set);
  const std::vector<KnownOption> known = set.known_options();
  ASSERT_EQ(known.size(), 6u);
  EXPECT_TRUE(known[0].names.empty());
  EXPECT_EQ(known[0].value, "TRACE");
  EXPECT_EQ(known[1].names, (Words{"-q", "--quiet"}));
  EXPECT_EQ(known[1].value, "");
  EXPECT_EQ(known[1].help, "Quiet");
  EXPECT_EQ(known[1].group, OptionGroup::kOutput);
  EXPECT_EQ(known[2].group, OptionGroup::kReport);
  EXPECT_EQ(known[5].group, OptionGroup::kOther);
  EXPECT_EQ(known[2].value, "NAME");
  EXPECT_EQ(known[2].words, (Words{"red", "blue"}));
  EXPECT_FALSE(known[2].value_may_miss);
  EXPECT_EQ(known[3].value, "FILE");
  EXPECT_TRUE(known[3].value_may_miss);
  EXPECT_EQ(known[4].value, "WORD");
  EXPECT_EQ(known[5].names, (Words{"-h", "--help"}));
}

TEST(OptionSet, AnswersWhatAnOptionIs) {
  OptionSet set("test", "Test", "heaptap test");
  bool flag = false;
  std::string text;
  Words words;
  const Option json = set.flag("-j,--json,--as-json", flag, "JSON");
  const Option html = set.flag("--html", flag, "HTML").excludes(json);
  const Option file = set.optional_text("--file", "-", text, "File");
  const Option list = set.list("--list", words, "List");
  const Option short_one = set.text("-x", text, "Short");
  EXPECT_EQ(set.find("-j"), json);
  EXPECT_EQ(set.find("--as-json"), json);
  EXPECT_NE(set.find("--html"), json);
  EXPECT_EQ(set.find("--as"), std::nullopt);
  EXPECT_EQ(json.long_names(), (Words{"--json", "--as-json"}));
  EXPECT_TRUE(json.has_name("--as-json"));
  EXPECT_TRUE(short_one.long_names().empty());
  EXPECT_FALSE(json.takes_value());
  EXPECT_FALSE(json.value_may_miss());
  EXPECT_FALSE(file.takes_value());
  EXPECT_TRUE(file.value_may_miss());
  EXPECT_TRUE(list.takes_value());
  EXPECT_TRUE(list.is_list());
  EXPECT_FALSE(short_one.is_list());
  EXPECT_TRUE(json.is_excluded_by(html));
  EXPECT_TRUE(html.is_excluded_by(json));
  EXPECT_FALSE(html.is_excluded_by(file));
}

TEST(OptionSet, ATextOfHelpCanBeReplaced) {
  OptionSet set("test", "Test it", "heaptap test [TRACE...] [options]");
  std::string text;
  set.text("--token-file", text, "One text");
  set.find("--token-file")->help("Another text");
  EXPECT_NE(help_of(set).find("Another text"), std::string::npos);
  EXPECT_EQ(set.command(), "test");
  EXPECT_EQ(set.summary(), "Test it");
  EXPECT_EQ(set.usage(), "heaptap test [TRACE...] [options]");
}

}  // namespace
}  // namespace heaptap::app
