#include "app/command_options.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <regex>

#include "app/merged_options.h"
#include "app/pid_word.h"
#include "base/edit_distance.h"
#include "base/pattern.h"
#include "base/safe_text.h"
#include "base/units.h"
#include "wire/heap_scan.h"

namespace heaptap::app {
namespace {

// " (did you mean --depth?)" for an option that is nearly one of ours.
std::string suggestion(const CLI::App& app, const Arguments& arguments) {
  std::string best;
  size_t least = 3;
  for (const std::string& argument : arguments) {
    const std::string name = argument.substr(0, argument.find('='));
    if (!name.starts_with("--") || app.get_option_no_throw(name) != nullptr) {
      continue;
    }
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& known : option->get_lnames()) {
        if (const size_t distance = base::edit_distance(name.substr(2), known); distance < least) {
          least = distance;
          best = "--" + known;
        }
      }
    }
  }
  return best.empty() ? "" : fmt::format(" (did you mean {}?)", best);
}

template <typename Parse>
CLI::Option* add_parsed(CLI::App& app, const std::string& name, const std::string& help, const Parse& parse) {
  return app.add_option_function<std::string>(
      name,
      [parse, name](const std::string& text) {
        if (const base::Result<> parsed = parse(text); !parsed) {
          throw CLI::ValidationError(name.substr(name.rfind(',') + 1), parsed.error().message);
        }
      },
      help);
}

// The words of CLI11's message behind its last ": ".
std::string subject_of(const std::string& message) {
  const size_t colon = message.rfind(": ");
  return colon == std::string::npos ? message : message.substr(colon + 2);
}

// What was wrong, in the user's words.
std::string cause_of(const CLI::ParseError& error) {
  const std::string message = error.what();
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    const std::string words = subject_of(message);
    return words.starts_with('-') ? fmt::format("unknown option {}", words)
                                  : fmt::format("unexpected argument '{}'", words);
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    const std::string option = message.substr(0, message.find(':'));
    return message.find("required") != std::string::npos ? fmt::format("{} needs a value", option)
                                                         : fmt::format("{} is given with too many values", option);
  }
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) {
    return fmt::format("{} takes no value, or another one",
                       message.substr(message.find("--") == std::string::npos ? 0 : message.find("--")));
  }
  std::string cause = message;
  std::replace(cause.begin(), cause.end(), '\n', ' ');
  return cause;
}

// A part of a name is one, too.
base::Result<> check_pattern(const std::string& text) {
  if (text.empty()) return base::fail("the name is empty");
  if (const auto pattern = base::Pattern::create(text); !pattern) {
    return base::fail(
        "'{}' is not a regular expression; put a backslash before each of ( ) [ ] {{ }} * + ? that means "
        "itself, or leave it out: a part of the name is enough ({})",
        text, pattern.error().message);
  }
  return {};
}

base::Result<> store(base::Result<uint64_t> value, uint64_t& target) {
  if (!value) {
    return std::unexpected(value.error());
  }
  target = *value;
  return {};
}

// CLI11 writes an option whose value may be left out as --name{value}.
std::string help_of(const CLI::App& app) {
  static const std::regex kOptionalFile(R"((--[a-z-]+)\{-\} {4})");
  static const std::regex kOptionalValue(R"((--[a-z-]+)\{(\w+)\} )");
  return std::regex_replace(std::regex_replace(app.help(), kOptionalFile, "$1[=FILE] "), kOptionalValue, "$1[=$2]");
}

constexpr const char* kWords = "words";  // name of the validator that holds them; it never checks

std::vector<std::string> offered_words(CLI::Option& option) try {
  CLI::Validator words = *option.get_validator(kWords);
  return CLI::detail::split(words.active(true).get_description(), ' ');
} catch (const CLI::OptionNotFound&) {
  return {};
}

KnownOption known_option(CLI::Option& option) {
  KnownOption known{.names = {}};
  for (const std::string& name : option.get_snames()) known.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) known.names.push_back("--" + name);
  known.words = offered_words(option);
  known.help = option.get_description();
  const bool is_flag = option.get_items_expected_max() == 0;
  known.value_may_miss = is_flag && !option.get_lnames().empty() && option.check_fname(option.get_lnames().front());
  if (known.names.empty()) {
    known.value = option.get_name(true);
  } else if (!is_flag || known.value_may_miss) {
    // A flag with a value has no name for it: see help_of().
    known.value = !is_flag ? option.get_type_name() : known.words.empty() ? "FILE" : "WORD";
  }
  return known;
}

std::vector<KnownOption> known_options(CLI::App& app) {
  std::vector<KnownOption> known;
  for (CLI::Option* const option : app.get_options({})) known.push_back(known_option(*option));
  return known;
}

}  // namespace

CLI::Option* offer(CLI::Option* option, const std::vector<std::string>& words) {
  return option->check(CLI::Validator(fmt::format("{}", fmt::join(words, " "))).active(false), kWords);
}

base::Result<pid_t> parse_pid(const std::string& word, const char* command, const char* usage) {
  if (const auto pid = pid_in(word)) return *pid;
  return base::fail_as(base::ErrorKind::kUsage, "{}: {}\nusage: {}", command,
                       word.empty() ? "which process? No PID given" : fmt::format("'{}' is not a PID", word), usage);
}

base::Result<std::optional<PrintText>> parse_with(CLI::App& app, const std::string& usage, const Arguments& arguments,
                                                  const Defaults& defaults) {
  app.set_help_flag("-h,--help", "Print this help");
  app.get_formatter()->column_width(34);
  const auto merged = merge_options(app, arguments, defaults);
  if (!merged) return std::unexpected(merged.error());
  try {
    std::vector<std::string> reversed(merged->words.rbegin(), merged->words.rend());  // CLI11 takes them from the back
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    const std::string description = app.get_description();
    return PrintText{help_of(app), description.substr(0, description.find(": heaptap")), known_options(app)};
  } catch (const CLI::ParseError& error) {
    const std::string cause = cause_of(error);
    if (const std::string place = place_of(cause, *merged); !place.empty()) {
      return base::fail_as(base::ErrorKind::kUsage, "{}: {}; `heaptap help {}` lists the options",
                           base::safe_text(place), cause, app.get_name());
    }
    return base::fail_as(base::ErrorKind::kUsage, "{}: {}{}\nusage: {}\n`heaptap help {}` lists the options",
                         app.get_name(), cause, suggestion(app, arguments), usage, app.get_name());
  }
  return std::nullopt;
}

size_t program_begin(const CLI::App& app, const Arguments& arguments) {
  size_t index = 0;
  while (index < arguments.size()) {
    const std::string& argument = arguments[index];
    if (argument == "--" || argument.size() < 2 || argument[0] != '-') {
      return index;
    }
    index += value_follows(app, argument) ? 2 : 1;
  }
  return arguments.size();
}

void add_color(CLI::App& app, ColorMode& color) {
  const auto parse = [&color](const std::string& text) -> base::Result<> {
    if (text != "auto" && text != "always" && text != "never") {
      return base::fail("'{}' is not one of auto, always, never", text);
    }
    color = text == "auto" ? ColorMode::kAuto : text == "always" ? ColorMode::kAlways : ColorMode::kNever;
    return {};
  };
  offer(add_parsed(app, "--color", "Colours: auto (on a terminal), always, never", parse)->type_name("WHEN"),
        {"auto", "always", "never"});
}

void add_switch(CLI::App& app, const std::string& name, bool& value, const std::string& help) {
  app.add_flag_callback("--" + name, [&value] { value = true; }, help + " (default)");
  app.add_flag_callback("--no-" + name, [&value] { value = false; });
}

void add_root_kinds(CLI::App& app, uint8_t& roots) {
  std::string names;
  for (const char* name : wire::kRootKindNames) names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
  CLI::Option* const option =
      app.add_option_function<std::vector<std::string>>(
             "--no-roots",
             [&roots, names](const std::vector<std::string>& kinds) {
               for (const std::string& kind : kinds) {
                 const auto* const found =
                     std::find(std::begin(wire::kRootKindNames), std::end(wire::kRootKindNames), kind);
                 if (found == std::end(wire::kRootKindNames)) {
                   throw CLI::ValidationError("--no-roots",
                                              fmt::format("unknown kind of root '{}': use {}", kind, names));
                 }
                 const auto nth = static_cast<unsigned>(found - std::begin(wire::kRootKindNames));
                 roots = static_cast<uint8_t>(roots & ~(1u << nth));
               }
             },
             "Ignore pointers in: " + names)
          ->delimiter(',')
          ->expected(1)
          ->allow_extra_args(false)
          ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
          ->type_name("KIND");
  offer(option, {std::begin(wire::kRootKindNames), std::end(wire::kRootKindNames)});
}

void add_sort(CLI::App& app, analysis::SortKey& sort) {
  CLI::Option* const option =
      add_parsed(
          app, "--sort",
          "Sort stacks by allocations, average, bad-frees, leaked-bytes, leaks, mismatched, peak, stacks, total, "
          "time or usage",
          [&sort](const std::string& text) -> base::Result<> {
            const auto key = analysis::parse_sort_key(text);
            if (!key) {
              return std::unexpected(key.error());
            }
            sort = *key;
            return {};
          })
          ->type_name("KEY");
  offer(option, analysis::sort_key_names());
}

void add_suppressions(CLI::App& app, std::vector<std::string>& files) {
  add_list(app, "--suppressions", files, "Hide the leaks that FILE lists (LSan or Valgrind syntax)")->type_name("FILE");
}

void add_suppressions(CLI::App& app, std::vector<std::string>& files, bool& carried) {
  add_suppressions(app, files);
  app.add_flag_callback(
      "--no-suppressions", [&carried] { carried = false; }, "Ignore the suppressions that are stored in the trace");
}

CLI::Option* add_list(CLI::App& app, const std::string& name, std::vector<std::string>& values,
                      const std::string& help) {
  return app.add_option(name, values, help + " (repeatable)")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

CLI::Option* add_number(CLI::App& app, const std::string& name, const std::string& help,
                        std::function<void(uint64_t)> store, uint64_t least, uint64_t most) {
  const auto parse = [store = std::move(store), least, most](const std::string& text) -> base::Result<> {
    const auto number = base::whole_number<uint64_t>(text);
    if (!number || *number < least || *number > most) {
      return base::fail("'{}' is not a number from {} to {}", text, least, most);
    }
    store(*number);
    return {};
  };
  return add_parsed(app, name, help, parse)->type_name("N");
}

CLI::Option* add_choice(CLI::App& app, const std::string& name, const std::vector<std::string>& words,
                        std::function<void(const std::string&)> store, const std::string& help) {
  const auto parse = [words, store = std::move(store)](const std::string& text) -> base::Result<> {
    if (std::ranges::find(words, text) == words.end()) {
      return base::fail("'{}' is not one of {}", text, fmt::join(words, ", "));
    }
    store(text);
    return {};
  };
  return offer(add_parsed(app, name, help, parse), words);
}

CLI::Option* add_pattern(CLI::App& app, const std::string& name, std::string& pattern, const std::string& help) {
  const auto parse = [&pattern](const std::string& text) -> base::Result<> {
    HEAPTAP_TRY(check_pattern(text));
    pattern = text;
    return {};
  };
  return add_parsed(app, name, help, parse)->type_name("NAME");
}

void add_skip(CLI::App& app, std::vector<std::string>& patterns) {
  app.add_option_function<std::vector<std::string>>(
         "--skip",
         [&patterns](const std::vector<std::string>& words) {
           for (const std::string& word : words) {
             if (const auto sound = check_pattern(word); !sound) {
               throw CLI::ValidationError("--skip", sound.error().message);
             }
           }
           patterns = words;
         },
         "Name sites by the callers of this function: a part of a name, or a regular expression (repeatable)")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("FUNCTION");
}

void add_ignore(CLI::App& app, analysis::Ignores& ignores) {
  app.add_option_function<std::vector<std::string>>(
         "--ignore",
         [&ignores](const std::vector<std::string>& words) {
           for (const std::string& word : words) {
             const auto& [text, place] = value_and_place(word, "--ignore");
             if (const auto added = ignores.add(text, place); !added)
               throw CLI::ValidationError("--ignore", added.error().message);
           }
         },
         "Count, but don't list, stacks with this in a function, FILE:LINE FUNCTION or module: a part of a name, or a "
         "regular expression (repeatable)")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("REGEX");
}

void add_frame_options(CLI::App& app, report::FrameTextOptions& frames) {
  app.add_flag("--full-names", frames.full_names, "Names with return types and all template arguments");
  app.add_flag("--full-paths", frames.full_paths, "Files with their directories");
  app.add_flag("--full-stacks", frames.full_stacks, "Stacks with the frames below main() and below threads' functions");
}

void add_config(CLI::App& app) {
  // What they say is found before the others are taken apart: see merge_options().
  const auto nothing = [](const std::string&) {};
  CLI::Option* const config = app.add_option_function<std::string>(
                                     "--config", nothing, "Read options from this file in place of the default one")
                                  ->type_name("FILE");
  app.add_flag_callback("--no-config", [] {}, "Read no file of options")->excludes(config);
}

CLI::Option* add_limit(CLI::App& app, const std::string& name, std::optional<uint64_t>& bytes,
                       const std::string& help) {
  return add_parsed(app, name, help, [&bytes](const std::string& text) -> base::Result<> {
    const auto size = base::parse_size(text);
    if (!size) return std::unexpected(size.error());
    bytes = *size;
    return {};
  });
}

CLI::Option* add_size(CLI::App& app, const std::string& name, uint64_t& bytes, const std::string& help) {
  return add_parsed(app, name, help, [&bytes](const std::string& text) { return store(base::parse_size(text), bytes); })
      ->type_name("SIZE");
}

CLI::Option* add_duration(CLI::App& app, const std::string& name, uint64_t& nanoseconds, const std::string& help) {
  return add_parsed(app, name, help,
                    [&nanoseconds](const std::string& text) { return store(base::parse_duration(text), nanoseconds); })
      ->type_name("TIME");
}

}  // namespace heaptap::app
