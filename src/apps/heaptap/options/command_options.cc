#include "apps/heaptap/options/command_options.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "analysis/patterns/pattern.h"
#include "apps/heaptap/commands/terminal.h"
#include "apps/heaptap/options/merged_options.h"
#include "apps/heaptap/options/pid_word.h"
#include "common/base/nearest_word.h"
#include "common/base/safe_text.h"
#include "common/wire/heap_scan.h"

namespace heaptap::app {
namespace {

// " (did you mean --depth?)" for an option similar to one of ours.
std::string suggestion(const OptionSet& set, const Arguments& arguments) {
  std::vector<std::string> names;
  for (const KnownOption& option : set.known_options()) {
    std::ranges::copy_if(option.names, std::back_inserter(names),
                         [](const auto& name) { return name.starts_with("--"); });
  }
  for (const std::string& argument : arguments) {
    const std::string name = argument.substr(0, argument.find('='));
    if (!name.starts_with("--") || set.find(name)) continue;
    if (std::string text = base::suggestion(name, names); !text.empty()) return text;
  }
  return "";
}

// A prefix of a name counts, too.
base::Result<> check_pattern(const std::string& text) {
  if (text.empty()) return base::fail("the name is empty");
  if (const auto pattern = patterns::Pattern::create(text); !pattern) {
    return base::fail(
        "'{}' is not a regular expression; escape literal ( ) [ ] {{ }} * + ? with a backslash, or leave them out: a "
        "part of the name is enough ({})",
        text, pattern.error().message);
  }
  return {};
}

}  // namespace

base::Result<pid_t> parse_pid(const std::string& word, const char* command, const char* usage) {
  if (const auto pid = pid_in(word)) return *pid;
  return base::fail_as(base::ErrorKind::kUsage, "{}: {}\nusage: {}", command,
                       word.empty() ? "no PID given" : fmt::format("'{}' is not a PID", word), usage);
}

base::Result<std::optional<PrintText>> parse_with(OptionSet& set, const Arguments& arguments,
                                                  const Defaults& defaults) {
  const auto merged = merge_options(set, arguments, defaults);
  if (!merged) return std::unexpected(merged.error());
  const auto outcome = set.parse(merged->words);
  if (!outcome) {
    const std::string& cause = outcome.error().message;
    if (const std::string place = place_of(cause, *merged); !place.empty()) {
      return base::fail_as(base::ErrorKind::kUsage, "{}: {}; `heaptap help {}` lists the options",
                           base::safe_text(place), cause, set.command());
    }
    return base::fail_as(base::ErrorKind::kUsage, "{}: {}{}\nusage: {}\n`heaptap help {}` lists the options",
                         set.command(), cause, suggestion(set, arguments), set.usage(), set.command());
  }
  if (*outcome == OptionSet::Outcome::kParsed) return std::nullopt;
  return PrintText{set.help(terminal_width(STDOUT_FILENO)), set.summary(), set.known_options()};
}

size_t program_begin(const OptionSet& set, const Arguments& arguments) {
  size_t index = 0;
  while (index < arguments.size()) {
    const std::string& argument = arguments[index];
    if (argument == "--" || argument.size() < 2 || argument[0] != '-') {
      return index;
    }
    index += value_follows(set, argument) ? 2 : 1;
  }
  return arguments.size();
}

Option add_json(OptionSet& set, std::optional<json::Version>& version) {
  const auto parse = [&version](const std::string& text) -> base::Result<> {
    if (text != "2" && text != "3") {
      return base::fail(
          "version '{}' is not supported: this heaptap writes version 3, and 2 for programs that can't read it", text);
    }
    version = text == "2" ? json::Version::kLists : json::Version::kNodes;
    return {};
  };
  return set.optional_parsed("--json", "3", parse, "As JSON, version 3; 2: as earlier versions of heaptap wrote it")
      .offer({"3", "2"});
}

void add_color(OptionSet& set, ColorMode& color) {
  set.group(OptionGroup::kOutput);
  const auto parse = [&color](const std::string& text) -> base::Result<> {
    if (text != "auto" && text != "always" && text != "never") {
      return base::fail("'{}' is not one of auto, always, never", text);
    }
    color = text == "auto" ? ColorMode::kAuto : text == "always" ? ColorMode::kAlways : ColorMode::kNever;
    return {};
  };
  set.parsed("--color", parse, "Colours: auto (on a terminal), always, never")
      .value_name("WHEN")
      .offer({"auto", "always", "never"});
}

void add_switch(OptionSet& set, const std::string& name, bool& value, const std::string& help,
                const std::string& help_without) {
  set.flag("--" + name, [&value] { value = true; }, help + " (default)");
  set.flag("--no-" + name, [&value] { value = false; }, help_without);
}

void add_root_kinds(OptionSet& set, uint8_t& roots) {
  set.group(OptionGroup::kReport);
  const std::vector<std::string> kinds(std::begin(wire::kRootKindNames), std::end(wire::kRootKindNames));
  const std::string names = fmt::format("{}", fmt::join(kinds, ", "));
  const auto parse = [&roots, kinds, names](const std::string& kind) -> base::Result<> {
    const auto found = std::ranges::find(kinds, kind);
    if (found == kinds.end()) return base::fail("unknown kind of root '{}': use {}", kind, names);
    roots = static_cast<uint8_t>(roots & ~(1u << (found - kinds.begin())));
    return {};
  };
  set.parsed_list("--no-roots", parse, "Ignore pointers in: " + names)
      .separated_by(',')
      .value_name("KIND")
      .offer(kinds);
}

void add_tagged_pointers(OptionSet& set, uint16_t& heuristics) {
  set.group(OptionGroup::kReport);
  constexpr uint16_t kBit = leaks::pointer_bit(wire::PointerKind::kTagged);
  const auto take = [&heuristics] { heuristics = static_cast<uint16_t>(heuristics | kBit); };
  set.flag(
      "--tagged-pointers", take,
      "Count tagged pointers (other bits set: the upper 16, the lowest 3) and distances between blocks as references");
}

void add_sort(OptionSet& set, std::optional<query::SortKey>& sort) {
  set.group(OptionGroup::kReport);
  const auto parse = [&sort](const std::string& text) -> base::Result<> {
    const auto key = query::parse_sort_key(text);
    if (!key) return std::unexpected(key.error());
    sort = *key;
    return {};
  };
  set.parsed("--sort", parse,
             "Sort stacks by allocations, average, bad-frees, growth (after --from), leaked-bytes, leaks, mismatched, "
             "peak, stacks, temporary, total, time or usage")
      .value_name("KEY")
      .offer(query::sort_key_names());
}

void add_suppressions(OptionSet& set, std::vector<std::string>& files) {
  set.group(OptionGroup::kReport);
  set.list("--suppressions", files, "Hide the leaks that FILE lists (LSan or Valgrind syntax)").value_name("FILE");
}

void add_suppressions(OptionSet& set, std::vector<std::string>& files, bool& carried) {
  add_suppressions(set, files);
  set.flag(
      "--no-suppressions", [&carried] { carried = false; }, "Ignore the suppressions that are stored in the trace");
}

void add_pattern(OptionSet& set, const std::string& name, std::string& pattern, const std::string& help) {
  const auto parse = [&pattern](const std::string& text) -> base::Result<> {
    HEAPTAP_TRY(check_pattern(text));
    pattern = text;
    return {};
  };
  set.parsed(name, parse, help).value_name("NAME");
}

void add_skip(OptionSet& set, std::vector<std::string>& patterns) {
  set.group(OptionGroup::kSymbols);
  const auto parse = [&patterns](const std::string& word) -> base::Result<> {
    HEAPTAP_TRY(check_pattern(word));
    patterns.push_back(word);
    return {};
  };
  set.parsed_list("--skip", parse,
                  "Name sites by the callers of this function: a part of a name, or a regular expression")
      .value_name("FUNCTION");
}

void add_ignore(OptionSet& set, query::Ignores& ignores) {
  set.group(OptionGroup::kReport);
  const auto parse = [&ignores](const std::string& word) {
    const auto& [text, place] = value_and_place(word, "--ignore");
    return ignores.add(text, place);
  };
  set.parsed_list("--ignore", parse,
                  "Count, but don't list, stacks with this in a function, FILE:LINE FUNCTION or module: a part of a "
                  "name, or a regular expression")
      .value_name("REGEX");
}

void add_frame_options(OptionSet& set, findings::FrameTextOptions& frames, const char* full_stacks) {
  set.group(OptionGroup::kSymbols);
  set.flag("--full-names", frames.full_names, "Names with return types and all template arguments");
  set.flag("--full-paths", frames.full_paths, "Files with their directories");
  set.flag("--full-stacks", frames.full_stacks, full_stacks);
}

void add_config(OptionSet& set) {
  set.group(OptionGroup::kOther);
  // Their values are needed before the others are parsed: see merge_options().
  const auto nothing = [](const std::string&) -> base::Result<> { return {}; };
  const Option config =
      set.parsed("--config", nothing, "Read options from FILE in place of the configuration file").value_name("FILE");
  set.flag("--no-config", [] {}, "Read no configuration file").excludes(config);
}

}  // namespace heaptap::app
