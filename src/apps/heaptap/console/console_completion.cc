// Completion of the console's command arguments.
#include <algorithm>

#include "apps/heaptap/completions/completions.h"
#include "apps/heaptap/console/console_commands.h"
#include "apps/heaptap/options/command_options.h"
#include "views/shell/file_names.h"

namespace heaptap::app {
namespace {

using shell::Words;

std::vector<KnownOption> show_options() {
  const auto help = parse_show({"--help"}, {});
  if (!help || !std::holds_alternative<PrintText>(*help)) return {};
  return std::get<PrintText>(*help).options;
}

Words values_of(ConsoleSession& session, const KnownOption& option, const std::string& word) {
  if (!option.words.empty()) return option.words;
  if (std::ranges::find(option.names, "--process") != option.names.end()) return session.pids();
  for (const Source source : sources_of(option)) {
    if (source == Source::kFiles || source == Source::kDirectories) return shell::file_names(word);
  }
  return {};
}

}  // namespace

Words show_words(ConsoleSession& session, const Words& arguments, const std::string& word) {
  const auto options = show_options();
  const auto named = [&](const std::string& name) {
    return std::ranges::find_if(options, [&](const KnownOption& option) {
      return std::ranges::find(option.names, name) != option.names.end();
    });
  };
  // The value of the option before it.
  if (!arguments.empty()) {
    const auto option = named(arguments.back());
    if (option != options.end() && !option->value.empty() && !option->value_may_miss) {
      return values_of(session, *option, word);
    }
  }
  // After its "=".
  if (const size_t equals = word.find('='); word.starts_with("--") && equals != word.npos) {
    const std::string name = word.substr(0, equals);
    const auto option = named(name);
    Words words = option == options.end() ? Words() : values_of(session, *option, word.substr(equals + 1));
    for (std::string& value : words) value.insert(0, name + "=");
    return words;
  }
  Words words;
  for (const KnownOption& option : options) {
    if (option.names.empty() && arguments.empty()) words.insert(words.end(), option.words.begin(), option.words.end());
    if (word.starts_with('-')) words.insert(words.end(), option.names.begin(), option.names.end());
  }
  return words;
}

std::function<Words(const Words&, const std::string&)> pid_words(ConsoleSession& session, Words others) {
  return [&session, others = std::move(others)](const Words& arguments, const std::string&) {
    Words words = session.pids();
    if (arguments.empty()) words.insert(words.end(), others.begin(), others.end());
    return words;
  };
}

}  // namespace heaptap::app
