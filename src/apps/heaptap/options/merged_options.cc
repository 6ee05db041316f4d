#include "apps/heaptap/options/merged_options.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "apps/heaptap/completions/completions.h"
#include "common/base/nearest_word.h"
#include "common/base/safe_text.h"

namespace heaptap::app {
namespace {

constexpr const char* kEnvironment = "$HEAPTAP_OPTIONS";
constexpr std::string_view kIgnore = "--ignore";

bool takes_value(const OptionSet& set, const std::string& name) {
  const auto option = set.find(name);
  return option && option->takes_value();
}

// Options on the command line.
struct Given {
  std::vector<Option> options;
  std::optional<std::string> config;
  bool no_config = false;
  bool help = false;
};

// The options in "-qn5", or the one in "--count=5".
std::vector<std::string> names_in(const OptionSet& set, const std::string& argument) {
  if (argument.starts_with("--")) return {argument.substr(0, argument.find('='))};
  std::vector<std::string> names;
  for (size_t index = 1; index < argument.size(); ++index) {
    names.push_back({'-', argument[index]});
    if (takes_value(set, names.back())) break;
  }
  return names;
}

Given given_in(const OptionSet& set, const std::vector<std::string>& arguments) {
  Given given;
  for (size_t index = 0; index < arguments.size() && arguments[index] != "--"; ++index) {
    const std::string& argument = arguments[index];
    if (argument.size() < 2 || argument[0] != '-') continue;
    for (const std::string& name : names_in(set, argument)) {
      if (const auto option = set.find(name)) given.options.push_back(*option);
      given.no_config = given.no_config || name == "--no-config";
      given.help = given.help || name == "--help" || name == "-h";
    }
    const bool follows = value_follows(set, argument) && index + 1 < arguments.size();
    if (argument == "--config" && follows) given.config = arguments[index + 1];
    if (argument.starts_with("--config=")) given.config = argument.substr(argument.find('=') + 1);
    index += follows ? 1 : 0;
  }
  return given;
}

// Option sets of all commands, built on first use.
class AllCommands {
 public:
  [[nodiscard]] bool has(const std::string& command) {
    return std::ranges::any_of(commands(), [&](const KnownCommand& known) { return known.name == command; });
  }
  // `command`: of this one; empty: of any.
  [[nodiscard]] const KnownOption* find(const std::string& name, const std::string& command = "") {
    for (const KnownCommand& known : commands()) {
      if (!command.empty() && known.name != command) continue;
      for (const KnownOption& option : known.options) {
        if (std::ranges::find(option.names, name) != option.names.end()) return &option;
      }
    }
    return nullptr;
  }
  // " (did you mean depth?)"
  [[nodiscard]] std::string suggestion(const std::string& name) {
    std::vector<std::string> names;
    for (const KnownCommand& known : commands()) {
      for (const KnownOption& option : known.options) {
        std::ranges::copy_if(option.names, std::back_inserter(names),
                             [&](const std::string& other) { return other.starts_with("--") && other != name; });
      }
    }
    return base::suggestion(name, names);
  }

 private:
  const std::vector<KnownCommand>& commands() {
    if (commands_.empty()) commands_ = known_commands();
    return commands_;
  }
  std::vector<KnownCommand> commands_;
};

std::unexpected<base::Error> wrong(const Setting& setting, const std::string& reason) {
  return base::fail_as(base::ErrorKind::kUsage, "{}: {}", base::safe_text(setting.place), reason);
}

// Meanings of the words for a flag's value.
std::optional<bool> truth_of(const std::string& value) {
  constexpr std::array<std::string_view, 4> kTrue{"true", "yes", "on", "1"};
  constexpr std::array<std::string_view, 4> kFalse{"false", "no", "off", "0"};
  if (std::ranges::find(kTrue, value) != kTrue.end()) return true;
  if (std::ranges::find(kFalse, value) != kFalse.end()) return false;
  return std::nullopt;
}

// Option that conflicts with some values of another one, which the option parser can't express.
struct OppositeValue {
  std::string_view option;
  std::string_view other;
  std::string_view value;
};
constexpr OppositeValue kOppositeValues[] = {{"--process", "--by", "process"},
                                             {"--process", "--by", "program"},
                                             {"--image", "--by", "process"},
                                             {"--image", "--by", "program"}};

// Effective settings in order, with their options.
class Merger {
 public:
  Merger(const OptionSet& set, AllCommands& commands) : set_(set), commands_(commands) {}

  // Settings of one origin; those of later ones, and `above`, override earlier ones.
  base::Result<> add(const std::vector<Setting>& settings) {
    for (const Setting& setting : settings) HEAPTAP_TRY(add(setting));
    return {};
  }

  void give_way(const std::vector<Option>& above) {
    for (const Option& option : above) {
      if (!option.is_list()) drop([&](const Entry& entry) { return entry.option == option; });
      drop_opposites(option);
      drop_opposite_values(option);
    }
  }

  std::vector<Setting> take() {
    std::vector<Setting> settings;
    for (Entry& entry : entries_) settings.push_back(std::move(entry.setting));
    return settings;
  }

 private:
  struct Entry {
    Setting setting;
    Option option;
  };

  void drop_opposite_values(const Option& option) {
    for (const OppositeValue& opposite : kOppositeValues) {
      if (!option.has_name(std::string(opposite.option))) continue;
      drop([&](const Entry& entry) {
        return entry.setting.name == opposite.other && entry.setting.value == std::string(opposite.value);
      });
    }
  }

  base::Result<> add(const Setting& setting) {
    const auto option = set_.find(setting.name);
    const bool is_for_this = setting.command.empty() || setting.command == set_.command();
    if (!setting.command.empty() && !is_for_this && !commands_.has(setting.command))
      return wrong(setting, fmt::format("[{}]: unknown command", setting.command));
    if (setting.name == "--config" || setting.name == "--no-config" || setting.name == "--help" || setting.name == "-h")
      return wrong(setting, setting.name + " is allowed on the command line only");
    if (!option || !is_for_this) {
      const KnownOption* const elsewhere = commands_.find(setting.name, setting.command);
      if (elsewhere != nullptr) return {};
      const std::string whose = setting.command.empty() ? "any command" : fmt::format("`heaptap {}`", setting.command);
      return wrong(setting, fmt::format("{} is not an option of {}{}", base::safe_text(setting.name), whose,
                                        commands_.suggestion(setting.name)));
    }
    return add(setting, *option);
  }

  base::Result<> add(Setting setting, const Option& option) {
    if (!option.is_list()) drop([&](const Entry& entry) { return entry.option == option; });
    drop_opposites(option);
    if (!option.takes_value()) {
      const auto truth = setting.value ? truth_of(*setting.value) : std::optional(true);
      if (truth) setting.value.reset();
      if (!truth && !option.value_may_miss())
        return wrong(setting, fmt::format("{} accepts only true or false", setting.name));
      if (truth == false) return {};
    } else if (!setting.value) {
      return wrong(setting, setting.name + " needs a value");
    }
    setting.name = option.long_names().front();
    entries_.push_back({std::move(setting), option});
    return {};
  }

  void drop(auto matches) { std::erase_if(entries_, matches); }

  // Options that the option excludes, and --no-NAME of the flag --NAME.
  void drop_opposites(const Option& option) {
    const std::vector<std::string> names = option.long_names();
    const std::string name = names.empty() ? "--" : names.front();
    const std::string opposite = name.starts_with("--no-") ? "--" + name.substr(5) : "--no-" + name.substr(2);
    drop([&](const Entry& entry) {
      const bool are_flags = !option.takes_value() && !entry.option.takes_value();
      return (are_flags && entry.setting.name == opposite) || entry.option.is_excluded_by(option);
    });
  }

  const OptionSet& set_;
  AllCommands& commands_;
  std::vector<Entry> entries_;
};

base::Result<std::vector<Setting>> settings_of_environment(const OptionSet& set, const std::string& text,
                                                           AllCommands& commands) {
  const auto words = split_words(text);
  if (!words) return base::fail_as(base::ErrorKind::kUsage, "{}: {}", kEnvironment, words.error().message);
  return settings_of_words(*words, kEnvironment, [&](const std::string& name) {
    if (const auto option = set.find(name)) return option->takes_value();
    const KnownOption* const known = commands.find(name);
    return known != nullptr && !known->value.empty() && !known->value_may_miss;
  });
}

// Removes --config and --no-config.
void take_config(std::vector<Setting>& settings, Given& given) {
  const bool is_said = given.config || given.no_config;
  for (const Setting& setting : settings) {
    if (is_said) break;
    if (setting.name == "--config") given.config = setting.value.value_or("");
    if (setting.name == "--no-config") given.no_config = true;
  }
  std::erase_if(settings,
                [](const Setting& setting) { return setting.name == "--config" || setting.name == "--no-config"; });
}

std::string word_of(const Setting& setting) {
  if (!setting.value) return setting.name;
  return setting.name + "=" + (setting.name == kIgnore ? placed_value(setting) : *setting.value);
}

}  // namespace

bool value_follows(const OptionSet& set, const std::string& argument) {
  if (argument.starts_with("--")) {
    return argument.find('=') == std::string::npos && takes_value(set, argument);
  }
  for (size_t index = 1; index < argument.size(); ++index) {
    if (takes_value(set, std::string("-") + argument[index])) {
      return index + 1 == argument.size();
    }
  }
  return false;
}

// A byte that occurs neither in a command line nor in a line of a file: 0.
std::string placed_value(const Setting& setting) { return *setting.value + '\0' + setting.place; }

std::pair<std::string, std::string> value_and_place(const std::string& word, const std::string& by_default) {
  const size_t end = word.find('\0');
  if (end == word.npos) return {word, by_default};
  return {word.substr(0, end), word.substr(end + 1)};
}

base::Result<MergedOptions> merge_options(const OptionSet& set, const std::vector<std::string>& arguments,
                                          const Defaults& defaults) {
  Given given = given_in(set, arguments);
  // Help works whatever the files contain.
  if (given.help || !set.find("--config")) return MergedOptions{.words = arguments, .settings = {}, .given = {}};
  AllCommands commands;
  auto environment = settings_of_environment(set, defaults.options, commands);
  if (!environment) return std::unexpected(std::move(environment).error());
  take_config(*environment, given);
  base::Result<std::vector<Setting>> settings;
  if (given.config)
    settings = read_settings(*given.config);
  else if (!given.no_config)
    settings = read_default_settings(defaults);
  if (!settings) return std::unexpected(std::move(settings).error());
  Merger merger(set, commands);
  HEAPTAP_TRY(merger.add(*settings));
  HEAPTAP_TRY(merger.add(*environment));
  merger.give_way(given.options);
  MergedOptions merged;
  merged.settings = merger.take();
  for (const Option& option : given.options) {
    for (std::string& name : option.long_names()) merged.given.push_back(std::move(name));
  }
  for (const Setting& setting : merged.settings) merged.words.push_back(word_of(setting));
  merged.words.insert(merged.words.end(), arguments.begin(), arguments.end());
  return merged;
}

std::string place_of(const std::string& message, const MergedOptions& merged) {
  const auto names = [&](const Setting& setting) {
    const size_t at = message.find(setting.name);
    if (at == message.npos) return false;
    const char behind = at + setting.name.size() < message.size() ? message[at + setting.name.size()] : ' ';
    return behind != '-' && (behind < 'a' || behind > 'z');
  };
  const auto quotes = [&](const Setting& setting) {
    return setting.value && message.find("'" + *setting.value + "'") != message.npos;
  };
  const Setting* found = nullptr;
  for (const Setting& setting : merged.settings) {
    const bool is_given_too = std::ranges::find(merged.given, setting.name) != merged.given.end();
    if (is_given_too && !quotes(setting)) continue;
    if (names(setting) && (found == nullptr || (quotes(setting) && !quotes(*found)))) found = &setting;
  }
  return found == nullptr ? "" : found->place;
}

}  // namespace heaptap::app
