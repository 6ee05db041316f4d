// Options of configuration files and of $HEAPTAP_OPTIONS, and how they go together with those of the command line.
#include "apps/heaptap/options/settings.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "apps/heaptap/commands/command_line.h"

namespace heaptap::app {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

std::vector<Setting> settings_in(std::string_view text) {
  auto settings = parse_settings(text, "f");
  EXPECT_TRUE(settings.has_value()) << settings.error().message;
  return settings ? *std::move(settings) : std::vector<Setting>();
}

std::string refusal_of(std::string_view text) {
  const auto settings = parse_settings(text, "f");
  EXPECT_FALSE(settings.has_value()) << text;
  if (settings) return "";
  EXPECT_EQ(settings.error().kind, base::ErrorKind::kUsage);
  return settings.error().message;
}

TEST(Settings, AreOneALine) {
  const std::vector<Setting> settings = settings_in(
      "\xef\xbb\xbf# comment\r\n\n  depth 30\r\ndepth=31\n--depth=32\n-d 33\ndepth = 34\nfull-names\nignore operator\" "
      "odd\n"
      "ignore \"a b\"\nskip 'x y' \nignore a\\.b # c = d\nsymbols=");
  const std::tuple<const char*, std::optional<std::string>, const char*> expected[] = {
      {"--depth", "30", "f:3"},
      {"--depth", "31", "f:4"},
      {"--depth", "32", "f:5"},
      {"-d", "33", "f:6"},
      {"--depth", "34", "f:7"},
      {"--full-names", std::nullopt, "f:8"},
      {"--ignore", "operator\" odd", "f:9"},
      {"--ignore", "a b", "f:10"},
      {"--skip", "x y", "f:11"},
      {"--ignore", "a\\.b # c = d", "f:12"},
      {"--symbols", "", "f:13"}};
  ASSERT_EQ(settings.size(), std::size(expected));
  for (size_t i = 0; i < settings.size(); ++i)
    EXPECT_EQ(std::tuple(settings[i].name, settings[i].value, settings[i].place),
              (std::tuple<std::string, std::optional<std::string>, std::string>(expected[i])));
}

TEST(Settings, CountForACommandBelowItsName) {
  const std::vector<Setting> settings = settings_in("a\n[diff]\nsort live\n[ show ]\nb");
  ASSERT_EQ(settings.size(), 3u);
  EXPECT_EQ(settings[0].command, "");
  EXPECT_EQ(settings[1].command, "diff");
  EXPECT_EQ(settings[2].command, "show");
}

TEST(Settings, OfBadLinesNameTheLine) {
  EXPECT_EQ(refusal_of("a\n!b\n").substr(0, 4), "f:2:");
  EXPECT_NE(refusal_of("---x").find("is not an option"), std::string::npos);
  EXPECT_NE(refusal_of("de:pth").find("is not an option"), std::string::npos);
  EXPECT_NE(refusal_of("[diff").find("[diff]"), std::string::npos);
  EXPECT_NE(refusal_of("[]").find("not a command's section"), std::string::npos);
  EXPECT_NE(refusal_of(std::string_view("a\0b", 3)).find("NUL byte"), std::string::npos);
  EXPECT_EQ(refusal_of("\x1b[31m x").find('\x1b'), std::string::npos) << "what is printed is safe";
  std::string many;
  for (int i = 0; i < 2001; ++i) many += "a\n";
  EXPECT_EQ(refusal_of(many).substr(0, 7), "f:2001:");
}

TEST(Settings, WordsAreAsAShellHasThem) {
  EXPECT_EQ(split_words(" a  'b c'\td\\ e \"f\\\"\\g\" '' x'y'z ").value(),
            (Words{"a", "b c", "d e", "f\"\\g", "", "xyz"}));
  EXPECT_EQ(split_words("").value(), Words{});
  EXPECT_FALSE(split_words("'a").has_value());
  EXPECT_FALSE(split_words("a\\").has_value());
}

// A directory for files, which are the defaults of a command line.
class DefaultOptions : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(directory_); }
  void TearDown() override { fs::remove_all(directory_); }

  std::string file(const std::string& name, const std::string& text) {
    const std::string path = directory_ + "/" + name;
    std::ofstream(path) << text;
    chmod(path.c_str(), 0644);
    return path;
  }
  void add(const std::string& path, bool is_local = false) { defaults_.files.push_back({path, is_local}); }
  void write(const std::string& text, bool is_local = false) {
    defaults_.files.clear();
    add(file("config", text), is_local);
  }

  template <typename Options>
  Options parsed(const Words& words) {
    defaults_.warn = [this](const std::string& text) { warned_ += text + "\n"; };
    const auto command = parse_command_line(words, defaults_);
    EXPECT_TRUE(command.has_value()) << command.error().message;
    if (!command || !std::holds_alternative<Options>(*command)) {
      ADD_FAILURE() << "another command";
      return {};
    }
    return std::get<Options>(*command);
  }
  std::string refused(const Words& words) {
    const auto command = parse_command_line(words, defaults_);
    EXPECT_FALSE(command.has_value());
    if (command) return "";
    EXPECT_EQ(command.error().kind, base::ErrorKind::kUsage);
    return command.error().message;
  }
  std::string place(size_t line) { return defaults_.files.front().path + ":" + std::to_string(line) + ": "; }

  Defaults defaults_;
  std::string warned_;
  std::string directory_ = testing::TempDir() + "settings_test." + std::to_string(getpid());
};

TEST_F(DefaultOptions, AreBeatenByTheEnvironmentAndBothByTheCommandLine) {
  write("depth 30\ncount 3\nskip one\nignore a\n");
  auto options = parsed<ShowOptions>({"show", "top", "t.htap"});
  EXPECT_EQ(options.query.listing.frames.depth, 30u);
  EXPECT_EQ(options.query.listing.limit, 3u);
  defaults_.options = "-n4 --skip=two --ignore 'b c' -q";
  options = parsed<ShowOptions>({"show", "top", "t.htap", "--skip", "three", "--ignore", "d"});
  EXPECT_EQ(options.query.listing.limit, 4u);
  EXPECT_TRUE(options.quiet);
  EXPECT_EQ(options.query.filter.skip, (Words{"one", "two", "three"}));
  ASSERT_EQ(options.query.filter.ignores.rules().size(), 3u);
  EXPECT_EQ(options.query.filter.ignores.rules()[0].place + " ", place(4).substr(0, place(4).size() - 2) + " ");
  EXPECT_EQ(options.query.filter.ignores.rules()[1].place, "$HEAPTAP_OPTIONS");
  EXPECT_EQ(options.query.filter.ignores.rules()[1].filter.text(), "b c");
  EXPECT_EQ(options.query.filter.ignores.rules()[2].place, "--ignore");
  options = parsed<ShowOptions>({"show", "top", "t.htap", "-n", "5", "--depth=0"});
  EXPECT_EQ(options.query.listing.limit, 5u);
  EXPECT_EQ(options.query.listing.frames.depth, 0u);
}

TEST_F(DefaultOptions, CountForTheCommandsThatHaveThem) {
  write("bottom-up\nmax-leaked 7\n[run]\ndepth 9\n[diff]\nsort peak\n");
  EXPECT_TRUE(parsed<ShowOptions>({"show", "tree", "t.htap"}).bottom_up);
  EXPECT_EQ(parsed<ShowOptions>({"show", "tree", "t.htap"}).query.listing.frames.depth, 0u);
  EXPECT_EQ(parsed<CheckOptions>({"check", "t.htap"}).leaked_bytes, 7u);
  EXPECT_EQ(parsed<RunOptions>({"run", "--", "x", "--depth", "3"}).depth, 9u);
  EXPECT_EQ(parsed<RunOptions>({"run", "-d3", "x"}).depth, 3u);
  EXPECT_EQ(parsed<DiffOptions>({"diff", "a", "b"}).compare.sort, report::Figure::kPeakBytes);
  parsed<DoctorOptions>({"doctor"});
  parsed<ExportOptions>({"export", "--to", "csv", "t"});
  parsed<ReportOptions>({"report"});
}

TEST_F(DefaultOptions, ThatNoCommandHasAreRefused) {
  write("quiet\ndepht 3\n");
  EXPECT_EQ(refused({"show", "top", "t"}),
            place(2) + "--depht is not an option of any command (did you mean --depth?)");
  write("[diff]\nbottom-up\n");
  EXPECT_EQ(refused({"show", "top", "t"}), place(2) + "--bottom-up is not an option of `heaptap diff`");
  write("[dif]\nsort peak\n");
  EXPECT_EQ(refused({"show", "top", "t"}), place(2) + "[dif]: unknown command");
  write("config x\n");
  EXPECT_EQ(refused({"show", "top", "t"}), place(1) + "--config is allowed on the command line only");
  defaults_ = {.files = {}, .options = "--depht 3"};
  EXPECT_NE(refused({"show", "top", "t"}).find("$HEAPTAP_OPTIONS: "), std::string::npos);
  defaults_.options = "top";
  EXPECT_EQ(refused({"show"}), "$HEAPTAP_OPTIONS: 'top' is not an option: options begin with -");
  defaults_.options = "'";
  EXPECT_EQ(refused({"show"}), "$HEAPTAP_OPTIONS: unterminated quote '");
}

TEST_F(DefaultOptions, WithBadValuesAreNamedWithTheirLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"depth many", "--depth: 'many' is not a number"},
      {"ignore f(", "--ignore: 'f(' is not a regular expression: missing )"},
      {"ignore", "--ignore needs a value"},
      {"ignore=", "--ignore: the name is empty"},
      {"skip [a", "--skip: '[a' is not a regular expression"},
      {"quiet=perhaps", "--quiet accepts only true or false"},
      {"sort colour", "--sort: unknown sort key 'colour'"},
      {"no-roots stack,what", "unknown kind of root 'what'"},
      {"depth", "--depth needs a value"},
  };
  for (const auto& [line, message] : cases) {
    write(std::string("quiet\n") + line + "\n");
    const std::string error = refused({"show", "leaks", "t"});
    EXPECT_TRUE(error.starts_with(place(2))) << error;
    EXPECT_NE(error.find(message), std::string::npos) << error;
  }
  write("ignore good\nskip fine\n");
  const std::string error = refused({"show", "top", "t", "--skip", "f("});
  EXPECT_TRUE(error.starts_with("show: --skip: 'f(' is not")) << error;
}

TEST_F(DefaultOptions, GiveWayToWhatSpeaksAgainstThem) {
  write("json\nno-leak-scan\nby process\nsanity\n");
  const auto lines = parsed<ShowOptions>({"show", "blocks", "--ndjson", "t", "--no-sanity"});
  EXPECT_TRUE(lines.ndjson && !lines.json && !lines.query.listing.errors);
  EXPECT_TRUE(parsed<ShowOptions>({"show", "--process", "7", "t.htap"}).table == RunTable::kAll);
  EXPECT_FALSE(parsed<RunOptions>({"run", "x"}).leak_scan);
  EXPECT_TRUE(parsed<RunOptions>({"run", "--leak-scan", "x"}).leak_scan);
  EXPECT_TRUE(parsed<DiffOptions>({"diff", "--html", "a", "b"}).html);
  write("json\njson=no\nquiet=true\n");
  EXPECT_FALSE(parsed<ShowOptions>({"show", "top", "t"}).json);
  EXPECT_TRUE(parsed<ShowOptions>({"show", "top", "t"}).quiet);
}

TEST_F(DefaultOptions, AreThoseOfTheFirstFileThatIsThere) {
  add(directory_ + "/none");
  add(file("first", "depth 1\n"));
  add(file("second", "depth 2\ncount 2\n"));
  const auto options = parsed<ShowOptions>({"show", "top", "t"});
  EXPECT_EQ(options.query.listing.frames.depth, 1u);
  EXPECT_EQ(options.query.listing.limit, 0u);
  EXPECT_EQ(warned_, "");
  const std::string other = file("other", "depth 5\n");
  EXPECT_EQ(parsed<ShowOptions>({"show", "--config", other, "t.htap"}).query.listing.frames.depth, 5u);
  EXPECT_EQ(parsed<ShowOptions>({"show", "--config=" + other, "t.htap"}).query.listing.frames.depth, 5u);
  EXPECT_EQ(parsed<ShowOptions>({"show", "--no-config", "t.htap"}).query.listing.frames.depth, 0u);
  defaults_.options = "--config " + other;
  EXPECT_EQ(parsed<ShowOptions>({"show", "t.htap"}).query.listing.frames.depth, 5u);
  EXPECT_EQ(parsed<ShowOptions>({"show", "--no-config", "t.htap"}).query.listing.frames.depth, 0u);
  EXPECT_EQ(parsed<RunOptions>({"run", "x", "--config", "no", "--no-config"}).command.size(), 4u);
  EXPECT_NE(parsed<PrintText>({"show", "--help"}).text.find("--ignore"), std::string::npos);
  defaults_.options = "--bogus";
  EXPECT_NE(parsed<PrintText>({"help", "show"}).text.find("--ignore"), std::string::npos);
}

TEST_F(DefaultOptions, OfAFileThatOthersCanWriteAreNotRead) {
  const std::string open = file("open", "depth 1\n");
  chmod(open.c_str(), 0666);
  add(open, true);
  add(directory_);  // a directory
  add(file("mine", "depth 2\n"));
  EXPECT_EQ(parsed<ShowOptions>({"show", "top", "t"}).query.listing.frames.depth, 2u);
  EXPECT_NE(warned_.find(open + " is not read: it is writable by everybody; `--config " + open + "` reads it"),
            std::string::npos)
      << warned_;
  EXPECT_NE(warned_.find("it is not a regular file"), std::string::npos);
  EXPECT_EQ(parsed<ShowOptions>({"show", "top", "t", "--config", open}).query.listing.frames.depth, 1u)
      << "it was named";
}

TEST_F(DefaultOptions, OfAnotherUserAreNotRead) {
  if (geteuid() != 0) GTEST_SKIP() << "root alone can give a file away";
  const std::string path = file("theirs", "depth 1\n");
  ASSERT_EQ(chown(path.c_str(), 12345, 12345), 0);
  add(path, true);
  EXPECT_EQ(parsed<ShowOptions>({"show", "top", "t"}).query.listing.frames.depth, 0u);
  EXPECT_NE(warned_.find("it belongs to user 12345, not to root"), std::string::npos) << warned_;
  const std::string mine = file("mine", "depth 2\n");
  const std::string link = directory_ + "/link";
  fs::create_symlink(mine, link);
  ASSERT_EQ(lchown(link.c_str(), 12345, 12345), 0);
  defaults_.files = {{link, true}};
  warned_.clear();
  EXPECT_EQ(parsed<ShowOptions>({"show", "top", "t"}).query.listing.frames.depth, 0u);
  EXPECT_NE(warned_.find("it is a symbolic link of user 12345"), std::string::npos) << warned_;
}

TEST_F(DefaultOptions, OfAWorkingDirectoryMakeNothingHappen) {
  for (const char* line : {"output x", "-o x", "force", "env LD_PRELOAD=./x.so", "user root", "pid 1", "json=x", "open",
                           "html", "source", "debuginfod", "report-signal USR2", "symbols-server :1", "token-file x"}) {
    write(std::string("depth 3\n") + line + "\n", true);
    const std::string error = refused({"run", "x"});
    EXPECT_TRUE(error.starts_with(place(2))) << error;
    EXPECT_NE(error.find("is not accepted from a file in the working directory"), std::string::npos) << error;
    EXPECT_NE(refused({"show", "top", "t"}).find("is not accepted"), std::string::npos);
  }
  write("env A=b\noutput x\n", false);
  EXPECT_EQ(parsed<RunOptions>({"run", "x"}).environment, Words{"A=b"});
}

TEST_F(DefaultOptions, AreBounded) {
  write(std::string(300 << 10, '#'));
  EXPECT_NE(refused({"show", "top", "t"}).find("too large"), std::string::npos);
  write(
      "ignore (a{30}){30}\n"
      "ignore ((((((a*)*)*)*)*)*)*b\n");
  EXPECT_EQ(parsed<ShowOptions>({"show", "top", "t"}).query.filter.ignores.rules().size(), 2u);
  write("ignore (\\pL{30}){30}\n");
  EXPECT_NE(refused({"show", "top", "t"}).find("too large"), std::string::npos);
}

TEST_F(DefaultOptions, TakeExpressionsAsTheyAre) {
  write("ignore [ab]\nignore [ab,cd]\nskip [xy]\n");
  const auto options = parsed<ShowOptions>({"show", "top", "t", "--ignore", "[ef]"});
  ASSERT_EQ(options.query.filter.ignores.rules().size(), 3u);
  EXPECT_EQ(options.query.filter.ignores.rules()[0].filter.text(), "[ab]");
  EXPECT_EQ(options.query.filter.ignores.rules()[1].filter.text(), "[ab,cd]");
  EXPECT_EQ(options.query.filter.ignores.rules()[2].filter.text(), "[ef]");
  EXPECT_EQ(options.query.filter.skip, Words{"[xy]"});
}

}  // namespace
}  // namespace heaptap::app
