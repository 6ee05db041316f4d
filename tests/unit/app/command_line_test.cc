#include "apps/heaptap/commands/command_line.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "apps/heaptap/completions/completions.h"

namespace heaptap::app {
namespace {

using Words = std::vector<std::string>;

template <typename Options>
Options parsed(const Words& words) {
  const auto command = parse_command_line(words);
  EXPECT_TRUE(command.has_value()) << command.error().message;
  if (!command || !std::holds_alternative<Options>(*command)) {
    ADD_FAILURE() << "another command";
    return {};
  }
  return std::get<Options>(*command);
}

std::string refused(const Words& words) {
  const auto command = parse_command_line(words);
  if (command) {
    ADD_FAILURE() << "accepted";
    return "";
  }
  EXPECT_EQ(command.error().kind, base::ErrorKind::kUsage);
  return command.error().message;
}

// A directory that is the whole $PATH as long as this lives.
class ScopedPath {
 public:
  explicit ScopedPath(std::string directory) : directory_(std::move(directory)) {
    if (const char* const path = std::getenv("PATH")) before_ = path;
    std::filesystem::create_directory(directory_);
    setenv("PATH", directory_.c_str(), 1);
  }
  ScopedPath(const ScopedPath&) = delete;
  ScopedPath& operator=(const ScopedPath&) = delete;
  ~ScopedPath() {
    setenv("PATH", before_.c_str(), 1);
    std::filesystem::remove_all(directory_);
  }

  void add_program(const std::string& name) const {
    std::ofstream(directory_ + "/" + name) << "#!/bin/sh\n";
    std::filesystem::permissions(directory_ + "/" + name, std::filesystem::perms::owner_all);
  }

 private:
  std::string directory_;
  std::string before_;
};

TEST(CommandLine, LeavesTheProgramItsOwnOptions) {
  const Words expected{"./app", "-o", "x", "--", "--json"};
  EXPECT_EQ(parsed<RunOptions>({"run", "./app", "-o", "x", "--", "--json"}).command, expected);
  EXPECT_EQ(parsed<RunOptions>({"./app", "-o", "x", "--", "--json"}).command, expected);
  EXPECT_EQ(parsed<RunOptions>({"run", "--", "./app", "-o", "x", "--", "--json"}).command, expected);
  EXPECT_EQ(parsed<RunOptions>({"run", "-q", "-d5", "./app", "-o", "x", "--", "--json"}).command, expected);
  EXPECT_EQ(parsed<RunOptions>({"-o", "y", "./app", "-o", "x", "--", "--json"}).command, expected);
}

TEST(CommandLine, TakesAProgramWhoseNameBeginsWithADash) {
  EXPECT_EQ(parsed<RunOptions>({"run", "--", "-app"}).command, (Words{"-app"}));
  EXPECT_EQ(parsed<RunOptions>({"run", "--", "--"}).command, (Words{"--"}));
}

TEST(CommandLine, AttachTakesProcessesInBothWaysEachOnce) {
  const RunOptions options =
      parsed<RunOptions>({"attach", "12", "-p", "13", "-q", "14", "--pid=12", "--duration", "250ms"});
  EXPECT_EQ(options.processes, (std::vector<pid_t>{12, 14, 13}));
  EXPECT_EQ(options.duration_ns, 250'000'000u);
  EXPECT_TRUE(options.quiet);
  EXPECT_TRUE(options.command.empty());
}

TEST(CommandLine, AttachAndRunTakeProcessesTogetherWithACommand) {
  for (const Words& words :
       {Words{"attach", "12", "-f", "--", "./app", "-q"}, Words{"run", "-f", "-p", "12", "./app", "-q"}}) {
    const RunOptions options = parsed<RunOptions>(words);
    EXPECT_EQ(options.processes, std::vector<pid_t>{12});
    EXPECT_EQ(options.command, (Words{"./app", "-q"}));
    EXPECT_TRUE(options.follow_fork);
    EXPECT_FALSE(options.quiet);
    EXPECT_FALSE(options.duration_ns.has_value());
  }
}

TEST(CommandLine, RefusesWhatIsNoProcess) {
  EXPECT_NE(refused({"attach"}).find("no PID given"), std::string::npos);
  EXPECT_NE(refused({"attach", "--", "./app"}).find("no PID given"), std::string::npos);
  for (const char* word : {"12x", "0", "99999999999", "1.5", "self"}) {
    EXPECT_NE(refused({"attach", word}).find(word), std::string::npos) << word;
    EXPECT_NE(refused({"run", "-p", word, "./app"}).find(word), std::string::npos) << word;
  }
  refused({"attach", "-12"});
  refused({"attach", "12", "--duration", "soon"});
}

TEST(CommandLine, ReadsTheOptionsOfRun) {
  const RunOptions options = parsed<RunOptions>({"run",
                                                 "-o",
                                                 "a.htap",
                                                 "--force",
                                                 "--depth=7",
                                                 "-fe",
                                                 "--via",
                                                 "agent",
                                                 "--no-leak-scan",
                                                 "--omit",
                                                 "libx.so",
                                                 "--omit=liby.so",
                                                 "--no-cpp",
                                                 "--sanity",
                                                 "--symbols",
                                                 "/tmp",
                                                 "--sysroot",
                                                 "/",
                                                 "--error-exitcode",
                                                 "3",
                                                 "--sort",
                                                 "al",
                                                 "-n",
                                                 "4",
                                                 "-E",
                                                 "A=1",
                                                 "-E",
                                                 "B=x=y",
                                                 "-qv",
                                                 "--json",
                                                 "--color",
                                                 "always",
                                                 "--on-overflow",
                                                 "drop",
                                                 "--log-memory",
                                                 "64M",
                                                 "--aggregate",
                                                 "--user",
                                                 "nobody",
                                                 "prog",
                                                 "arg"});
  EXPECT_EQ(options.output, "a.htap");
  EXPECT_TRUE(options.force && options.follow_fork && options.follow_exec && options.no_cpp && options.sanity);
  EXPECT_TRUE(options.quiet && options.verbose && options.json && options.aggregate && options.drop_on_overflow);
  EXPECT_FALSE(options.leak_scan);
  EXPECT_EQ(options.depth, 7u);
  EXPECT_EQ(options.via, "agent");
  EXPECT_EQ(options.omit, (Words{"libx.so", "liby.so"}));
  EXPECT_EQ(options.environment, (Words{"A=1", "B=x=y"}));
  EXPECT_EQ(options.error_exitcode, 3);
  EXPECT_EQ(options.sort, query::SortKey::kAllocations);
  EXPECT_EQ(options.count, 4u);
  EXPECT_EQ(options.color, ColorMode::kAlways);
  EXPECT_EQ(options.log_memory_bytes, 64u << 20);
  EXPECT_EQ(options.user, "nobody");
  EXPECT_EQ(options.command, (Words{"prog", "arg"}));
}

TEST(CommandLine, ReadsTheOptionsOfShow) {
  const ShowOptions options =
      parsed<ShowOptions>({"show", "tree", "--json", "t.htap", "--function", "foo.*", "--thread", "2", "--from", "1s",
                           "--to", "1.5s", "-n", "3", "--bottom-up"});
  EXPECT_EQ(options.view, report::View::kTree);
  EXPECT_EQ(options.trace, "t.htap");
  EXPECT_TRUE(options.json && options.bottom_up);
  EXPECT_EQ(options.query.filter.function, "foo.*");
  EXPECT_EQ(options.query.filter.thread, 2u);
  EXPECT_EQ(options.query.window.from, "1s");
  EXPECT_EQ(options.query.window.to, "1.5s");
  EXPECT_EQ(options.query.listing.limit, 3u);
  EXPECT_EQ(parsed<ShowOptions>({"show", "--json", "summary", "t.htap"}).trace, "t.htap");
  EXPECT_EQ(parsed<ShowOptions>({"show", "--sysroot", "/", "summary", "--", "-t.htap"}).trace, "-t.htap");
}

TEST(CommandLine, TakesTheVersionOfJsonThatIsAskedFor) {
  EXPECT_EQ(parsed<ShowOptions>({"show", "a.htap"}).json, std::nullopt);
  EXPECT_EQ(parsed<ShowOptions>({"show", "--json", "a.htap"}).json, json::Version::kNodes);
  EXPECT_EQ(parsed<ShowOptions>({"show", "--json=3", "a.htap"}).json, json::Version::kNodes);
  EXPECT_EQ(parsed<ShowOptions>({"show", "--json=2", "a.htap"}).json, json::Version::kLists);
  EXPECT_EQ(parsed<LeaksOptions>({"leaks", "--json=2", "1"}).show.json, json::Version::kLists);
  EXPECT_EQ(parsed<DiffOptions>({"diff", "--json=2", "a", "b"}).json, json::Version::kLists);
  EXPECT_EQ(parsed<CheckOptions>({"check", "--json=2", "--max-leaked", "0", "a"}).json, json::Version::kLists);
  for (const char* wrong : {"--json=1", "--json=4", "--json=x"})
    EXPECT_NE(refused({"show", wrong, "a.htap"}).find("is not supported"), std::string::npos) << wrong;
}

TEST(CommandLine, TakesTheSummaryAndTheNewestTraceWhereNoneIsNamed) {
  using report::View;
  EXPECT_EQ(parsed<ShowOptions>({"show"}).view, View::kSummary);
  EXPECT_EQ(parsed<ShowOptions>({"show"}).trace, "");
  EXPECT_EQ(parsed<ShowOptions>({"show", "top"}).view, View::kTop);
  EXPECT_EQ(parsed<ShowOptions>({"show", "top"}).trace, "");
  EXPECT_EQ(parsed<ShowOptions>({"show", "a.htap"}).view, View::kSummary);
  EXPECT_EQ(parsed<ShowOptions>({"show", "a.htap"}).trace, "a.htap");
  EXPECT_EQ(parsed<ShowOptions>({"show", "--scans", "a.htap"}).view, View::kScans);
  EXPECT_EQ(parsed<ShowOptions>({"a.htap", "--json"}).trace, "a.htap");
  EXPECT_TRUE(parsed<ShowOptions>({"a.htap", "--json"}).json);
  EXPECT_EQ(parsed<RunOptions>({"./program", "a.htap"}).command.front(), "./program");
  EXPECT_NE(refused({"show", "nonsense"}).find("unknown view 'nonsense'"), std::string::npos);
}

TEST(CommandLine, TakesFunctionsToSkipFromOptionsAndFiles) {
  EXPECT_EQ(parsed<ShowOptions>({"show", "--skip", "Pool::", "--skip", "^grow", "a.htap"}).query.filter.skip,
            (Words{"Pool::", "^grow"}));
  EXPECT_EQ(parsed<RunOptions>({"run", "--skip", "pool", "x"}).skip, Words{"pool"});
  EXPECT_EQ(parsed<RunOptions>({"attach", "--skip", "pool", "12"}).skip, Words{"pool"});
  EXPECT_EQ(parsed<CheckOptions>({"check", "--skip", "pool", "a", "--max-leaked", "0"}).skip, Words{"pool"});
  EXPECT_EQ(parsed<LeaksOptions>({"leaks", "--skip", "pool", "12"}).show.query.filter.skip, Words{"pool"});
  const std::string path = testing::TempDir() + "command_line_test.skip";
  std::ofstream(path) << "skip Pool::take\nquiet=true\n  skip operator\" odd\n# skip nothing\n";
  const auto options = parsed<ShowOptions>({"show", "top", "--config", path, "a"});
  EXPECT_EQ(options.query.filter.skip, (Words{"Pool::take", "operator\" odd"}));
  EXPECT_TRUE(options.quiet);
  std::filesystem::remove(path);
}

TEST(CommandLine, TakesOfAnotherMachineWhatOneConnectionNeeds) {
  const LeaksOptions far = parsed<LeaksOptions>({"leaks", "-H", "board:7421", "--token-file", "token", "12"});
  EXPECT_EQ(far.machine.host, "board:7421");
  EXPECT_EQ(far.machine.token_file, "token");
  EXPECT_EQ(far.duration_ns, 10'000'000'000u);
  EXPECT_EQ(parsed<LeaksOptions>({"leaks", "--duration", "2s", "12"}).duration_ns, 2'000'000'000u);
  EXPECT_EQ(parsed<MarkOptions>({"mark", "-H", "board:7421", "--token-file", "token", "12", "here"}).host,
            "board:7421");
  const auto through = parsed<MarkOptions>({"connect", "board:7421", "mark", "--token-file", "token", "12", "here"});
  EXPECT_EQ(through.host, "board:7421");
  EXPECT_EQ(through.name, "here");
}

TEST(CommandLine, WhoTakesOverHasTheOptionsOfNames) {
  const auto options = parsed<RunOptions>({"connect", "--no-fetch", "--fetch-limit", "1M", "--symbols-server",
                                           "127.0.0.1:7422", "--symbols", "build", "board:7421"});
  EXPECT_TRUE(options.machine.takes_over);
  EXPECT_TRUE(options.no_fetch);
  EXPECT_EQ(options.fetch_limit_bytes, uint64_t{1} << 20);
  EXPECT_NE(options.symbols_server, nullptr);
  EXPECT_EQ(options.symbols, Words{"build"});
}

TEST(CommandLine, TakesNamesInFull) {
  const auto options = parsed<ShowOptions>({"show", "top", "--full-names", "--full-paths", "--full-stacks", "a"});
  EXPECT_TRUE(options.frames.full_names && options.frames.full_paths && options.frames.full_stacks);
  EXPECT_TRUE(parsed<ShowOptions>({"show", "top", "--no-pager", "a"}).no_pager);
  EXPECT_TRUE(parsed<RunOptions>({"run", "--full-names", "x"}).frames.full_names);
}

TEST(CommandLine, SaysWhatIsWrong) {
  EXPECT_NE(refused({}).find("heaptap run"), std::string::npos);
  EXPECT_NE(refused({"run"}).find("no program"), std::string::npos);
  EXPECT_NE(refused({"run", "--dept", "3", "x"}).find("did you mean --depth?"), std::string::npos);
  EXPECT_NE(refused({"run", "--via", "magic", "x"}).find("--via"), std::string::npos);
  EXPECT_NE(refused({"run", "-d", "many", "x"}).find("depth"), std::string::npos);
  EXPECT_NE(refused({"run", "-E", "novalue", "x"}).find("-E NAME=value"), std::string::npos);
  EXPECT_NE(refused({"run", "--log-memory", "lots", "x"}).find("64K"), std::string::npos);
  EXPECT_NE(refused({"run", "--config", "/no/such/file", "x"}).find("/no/such/file"), std::string::npos);
  EXPECT_NE(refused({"run", "--color", "blue", "x"}).find("color"), std::string::npos);
  EXPECT_NE(refused({"show", "nonsense", "t"}).find("summary, leaks"), std::string::npos);
  EXPECT_NE(refused({"show", "summary", "t", "u"}).find("expected one view and one trace"), std::string::npos);
  EXPECT_NE(refused({"show", "summary", "t", "--sort", "t"}).find("ambiguous sort key"), std::string::npos);
  EXPECT_NE(refused({"help", "frobnicate"}).find("frobnicate"), std::string::npos);
}

TEST(CommandLine, SaysWhichCommandsAreNotThereYet) {
  for (const char* name : {"serve"}) {
    EXPECT_NE(refused({name, "x"}).find("not available"), std::string::npos) << name;
  }
}

TEST(CommandLine, HelpsWithEachCommand) {
  EXPECT_NE(parsed<PrintText>({"--help"}).text.find("heaptap show"), std::string::npos);
  EXPECT_NE(parsed<PrintText>({"help"}).text.find("heaptap show"), std::string::npos);
  EXPECT_NE(parsed<PrintText>({"help", "run"}).text.find("--follow-fork"), std::string::npos);
  EXPECT_NE(parsed<PrintText>({"run", "--help"}).text.find("--follow-fork"), std::string::npos);
  EXPECT_NE(parsed<PrintText>({"show", "-h"}).text.find("--bottom-up"), std::string::npos);
  EXPECT_EQ(parsed<PrintText>({"--version"}).text.rfind("heaptap ", 0), 0u);
}

TEST(CommandLine, HelpTakesOneCommand) {
  EXPECT_EQ(parsed<PrintText>({"help", "symbols", "serve"}).text, parsed<PrintText>({"help", "symbols"}).text);
  EXPECT_NE(refused({"help", "run", "show"}).find("unexpected argument 'show'"), std::string::npos);
}

TEST(CommandLine, KnowsWhichCommandWasMeant) {
  for (const auto& [typed, meant] : {std::pair{"hlep", "help"}, std::pair{"lekas", "leaks"}, std::pair{"rnu", "run"},
                                     std::pair{"shwo", "show"}, std::pair{"exprot", "export"}}) {
    const std::string text = fmt::format("unknown command '{}' (did you mean {}?)", typed, meant);
    EXPECT_TRUE(refused({typed, "x"}).starts_with(text)) << refused({typed, "x"});
    EXPECT_TRUE(refused({"help", typed}).starts_with(text)) << refused({"help", typed});
  }
}

TEST(CommandLine, RunsAProgramWhoseNameIsLikeACommands) {
  const ScopedPath path(testing::TempDir() + "command_line_test.programs");
  path.add_program("lekas");
  EXPECT_EQ(parsed<RunOptions>({"lekas", "x"}).command, (Words{"lekas", "x"}));
  EXPECT_EQ(parsed<RunOptions>({"./hlep"}).command, Words{"./hlep"});
  EXPECT_EQ(parsed<RunOptions>({"frobnicate"}).command, Words{"frobnicate"});
  EXPECT_EQ(parsed<RunOptions>({"run", "hlep"}).command, Words{"hlep"});
}

// What the library that parses the options writes of itself.
TEST(CommandLine, HelpIsInOurOwnWords) {
  for (const KnownCommand& command : known_commands()) {
    const std::string text = parsed<PrintText>({"help", command.name}).text;
    for (const char* raw : {"TEXT", "UINT", "INT ", "FLOAT", "BOOLEAN", "Excludes", "Needs", "REQUIRED", "[OPTIONS]",
                            "Positionals", ":{", " in [", "...   "}) {
      EXPECT_EQ(text.find(raw), std::string::npos) << raw << " in " << command.name;
    }
    for (const KnownOption& option : command.options) {
      EXPECT_FALSE(option.help.empty() && !option.names.empty()) << command.name << " " << option.names.front();
    }
  }
}

// But --depth, which says what is recorded, or else what is shown, and --to: a format, or a moment.
TEST(CommandLine, AnOptionIsInTheSameGroupInAllCommands) {
  std::map<std::string, OptionGroup> groups;
  for (const KnownCommand& command : known_commands()) {
    for (const KnownOption& option : command.options) {
      for (const std::string& name : option.names) {
        if (!name.starts_with("--") || name == "--depth" || name == "--to") continue;
        EXPECT_EQ(groups.try_emplace(name, option.group).first->second, option.group) << command.name << " " << name;
      }
    }
  }
}

// The rest of the help has all of them.
TEST(CommandLine, HelpOfManyOptionsHasAtMostTenFirst) {
  constexpr size_t kFew = 10;
  for (const KnownCommand& command : known_commands()) {
    const std::string text = parsed<PrintText>({"help", command.name}).text;
    const size_t begin = text.find("\nMost used:\n");
    if (command.options.size() <= kFew + 1) continue;
    ASSERT_NE(begin, std::string::npos) << command.name;
    const std::string section = text.substr(begin, text.find("\n\n", begin + 1) - begin);
    size_t count = 0;
    for (size_t at = section.find("\n  -"); at != std::string::npos; at = section.find("\n  -", at + 1)) ++count;
    EXPECT_GE(count, 5u) << section;
    EXPECT_LE(count, 10u) << section;
  }
}

TEST(CommandLine, HelpOfTopHasItsKeys) {
  const std::string text = parsed<PrintText>({"help", "top"}).text;
  EXPECT_NE(text.find("\n\nKeys:\n"), std::string::npos);
  EXPECT_NE(text.find("\n  s                         scan for leaks"), std::string::npos) << text;
}

TEST(CommandLine, ChoosesOneViewOfTheLeaks) {
  using report::View;
  const ShowOptions why = parsed<ShowOptions>({"show", "leaks", "a.htap", "--why", "#b12"});
  EXPECT_EQ(why.view, View::kHolders);
  EXPECT_EQ(why.query.leaks.why->value, 12u);
  const ShowOptions retained = parsed<ShowOptions>({"show", "leaks", "--retained", "a.htap"});
  EXPECT_EQ(retained.view, View::kRetained);
  EXPECT_EQ(retained.trace, "a.htap");
  EXPECT_EQ(retained.query.leaks.retained, query::RetainedBy::kBlock);
  EXPECT_EQ(parsed<ShowOptions>({"show", "leaks", "--retained=type", "a.htap"}).query.leaks.retained,
            query::RetainedBy::kType);
  EXPECT_EQ(parsed<ShowOptions>({"show", "leaks", "--globals", "a.htap"}).view, View::kGlobals);
  EXPECT_EQ(parsed<ShowOptions>({"show", "leaks", "--scans", "a.htap"}).view, View::kScans);
  EXPECT_EQ(parsed<ShowOptions>({"show", "leaks", "--since", "1", "a.htap"}).view, View::kScanChanges);
  const ShowOptions generate = parsed<ShowOptions>({"show", "leaks", "--gen-suppressions", "a.htap"});
  EXPECT_EQ(generate.view, View::kLeaks);
  EXPECT_EQ(generate.query.leaks.generate, query::SuppressionSyntax::kValgrind);
  EXPECT_EQ(parsed<ShowOptions>({"show", "leaks", "--gen-suppressions=lsan", "a.htap"}).query.leaks.generate,
            query::SuppressionSyntax::kLsan);
  EXPECT_NE(parsed<PrintText>({"help", "show"}).text.find("--retained[=block|stack|type]"), std::string::npos);
  EXPECT_NE(refused({"show", "leaks", "--gen-suppressions=odd", "a.htap"}).find("lsan"), std::string::npos);
  EXPECT_NE(refused({"show", "leaks", "--retained=odd", "a.htap"}).find("stack"), std::string::npos);
  EXPECT_NE(refused({"show", "leaks", "--why", "odd", "a.htap"}).find("address"), std::string::npos);
  EXPECT_NE(refused({"show", "leaks", "--scans", "--globals", "a.htap"}).find("one at a time"), std::string::npos);
  EXPECT_NE(refused({"show", "summary", "--scans", "a.htap"}).find("show leaks"), std::string::npos);
}

// What is wrong, and what would be right, in our own words.
TEST(CommandLine, RefusesValuesWithCauseAndCure) {
  const std::pair<Words, const char*> refusals[] = {
      {{"show", "top", "-n", "-3", "a"}, "--count: '-3' is not a number from 0 to"},
      {{"show", "top", "--depth", "4x", "a"}, "--depth: '4x' is not a number"},
      {{"show", "top", "--thread", "0", "a"}, "--thread: '0' is not a number from 1"},
      {{"show", "leaks", "--since", "0", "a"}, "--since 0: scans have numbers from 1 on"},
      {{"show", "top", "--function", "f(", "a"}, "--function: 'f(' is not a regular expression; escape literal"},
      {{"show", "top", "--module", "[a", "a"}, "--module: '[a' is not a regular expression"},
      {{"show", "top", "--sort", "colour", "a"}, "--sort: unknown sort key 'colour': use one of allocations"},
      {{"show", "top", "--skip", "f(", "a"}, "--skip: 'f(' is not a regular expression; escape literal"},
      {{"run", "--skip", "", "x"}, "--skip: the name is empty"},
      {{"show", "top", "--bogus", "a"}, "unknown option --bogus"},
      {{"run", "--via", "magic", "x"}, "--via: 'magic' is not one of agent, ptrace"},
      {{"run", "--on-overflow", "spill", "x"}, "--on-overflow: 'spill' is not one of wait, drop"},
      {{"run", "--error-exitcode", "256", "x"}, "--error-exitcode: '256' is not a number from 0 to 255"},
      {{"run", "--collector-threads", "0", "x"}, "--collector-threads: '0' is not a number from 1 to 64"},
      {{"run", "-n", "-3", "x"}, "--count: '-3' is not a number"},
      {{"run", "--depth"}, "--depth needs a value"},
      {{"run", "--config", "/no/such/file", "x"}, "--config: can't read the file /no/such/file"},
      {{"check", "a", "--max-allocations", "-1"}, "--max-allocations: '-1' is not a number"},
  };
  for (const auto& [words, message] : refusals) {
    EXPECT_NE(refused(words).find(message), std::string::npos) << message << "\n" << refused(words);
  }
}

TEST(CommandLine, RefusesAnUnknownKeyInAConfigFile) {
  const std::string path = testing::TempDir() + "command_line_test.config";
  std::ofstream(path) << "quiet=true\nbogus=3\n";
  for (const Words& words : {Words{"run", "--config", path, "x"}, Words{"show", "top", "--config", path, "a"},
                             Words{"check", "--config", path, "--max-leaked", "0", "a"}}) {
    EXPECT_NE(refused(words).find("bogus"), std::string::npos) << refused(words);
  }
  std::ofstream(path) << "depth=3\n";
  EXPECT_EQ(parsed<RunOptions>({"run", "--config", path, "x"}).depth, 3u);
  std::filesystem::remove(path);
}

TEST(CommandLine, FollowsExecOfWhatItStartsAndOfChildren) {
  EXPECT_TRUE(parsed<RunOptions>({"run", "x"}).follow_exec);
  EXPECT_TRUE(parsed<RunOptions>({"run", "-e", "x"}).follow_exec);
  EXPECT_FALSE(parsed<RunOptions>({"run", "--no-follow-exec", "x"}).follow_exec);
  EXPECT_FALSE(parsed<RunOptions>({"run", "-f", "--no-follow-exec", "x"}).follow_exec);
  EXPECT_FALSE(parsed<RunOptions>({"attach", "12"}).follow_exec);
  EXPECT_TRUE(parsed<RunOptions>({"attach", "-e", "12"}).follow_exec);
  EXPECT_TRUE(parsed<RunOptions>({"attach", "-f", "12"}).follow_exec);
}

TEST(CommandLine, TakesAFileForTheReportAsJson) {
  const RunOptions to_stderr = parsed<RunOptions>({"run", "--json", "x"});
  EXPECT_TRUE(to_stderr.json && to_stderr.json_file.empty());
  EXPECT_EQ(to_stderr.command, Words{"x"});
  const RunOptions to_file = parsed<RunOptions>({"run", "--json=y", "x"});
  EXPECT_FALSE(to_file.json);
  EXPECT_EQ(to_file.json_file, "y");
}

TEST(CommandLine, ReadsTheLimitsOfCheck) {
  const CheckOptions options = parsed<CheckOptions>(
      {"check", "a.htap", "--max-leaked", "0", "--max-peak=100M", "--max-allocations", "7", "--suppressions", "x"});
  EXPECT_EQ(options.leaked_bytes, 0u);
  EXPECT_EQ(options.peak_bytes, 100u << 20);
  EXPECT_EQ(options.allocations, 7u);
  EXPECT_FALSE(options.live_bytes.has_value());
  EXPECT_EQ(parsed<CheckOptions>({"check", "b", "--max-leaked", "0", "a.htap"}).traces, (Words{"b", "a.htap"}));
  EXPECT_NE(refused({"check", "a.htap"}).find("--max-leaked 0"), std::string::npos);
  EXPECT_NE(refused({"check", "--max-leaked", "0"}).find("no trace"), std::string::npos);
  refused({"check", "a.htap", "--max-peak", "much"});
}

TEST(CommandLine, ConsoleTakesATargetAndCommandsInOrder) {
  const auto options = parsed<ConsoleOptions>({"console", "12", "-x", "scan new", "--execute", "show leaks"});
  EXPECT_EQ(options.target, "12");
  EXPECT_EQ(options.commands, (Words{"scan new", "show leaks"}));
  EXPECT_NE(refused({"console", "12", "13"}).find("unexpected"), std::string::npos);
}

}  // namespace
}  // namespace heaptap::app
