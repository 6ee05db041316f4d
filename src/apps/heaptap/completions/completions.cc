#include "apps/heaptap/completions/completions.h"

#include <algorithm>

namespace heaptap::app {
namespace {

void add(std::vector<Source>& sources, Source source) {
  if (std::ranges::find(sources, source) == sources.end()) sources.push_back(source);
}

// The words of a value's name, which stands for one or several values.
std::vector<std::string> value_words(const std::string& name) {
  std::vector<std::string> words;
  for (size_t at = 0; at < name.size();) {
    const size_t end = std::min(name.find_first_of(" |", at), name.size());
    if (end > at) words.push_back(name.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

}  // namespace

std::vector<Source> sources_of(const KnownOption& option) {
  std::vector<Source> sources;
  if (!option.words.empty()) sources.push_back(Source::kWords);
  for (const std::string& word : value_words(option.value)) {
    if (word == "FILE") add(sources, Source::kFiles);
    if (word == "DIR") add(sources, Source::kDirectories);
    if (word == "TRACE") add(sources, Source::kTraces);
    if (word == "PID") add(sources, Source::kProcesses);
    if (word == "PROGRAM") add(sources, Source::kPrograms);
    if (word == "USER") add(sources, Source::kUsers);
  }
  // For commands whose arguments have special names: most arguments are traces.
  if (is_positional(option) && sources.empty()) sources = {Source::kTraces};
  return sources;
}

bool is_positional(const KnownOption& option) { return option.names.empty(); }

const KnownOption* positional_of(const KnownCommand& command) {
  const auto found = std::ranges::find_if(command.options, is_positional);
  return found == command.options.end() ? nullptr : &*found;
}

bool begins_with_word(const KnownOption& option) {
  return is_positional(option) && !option.words.empty() && sources_of(option).size() > 1;
}

KnownOption without_words(KnownOption option) {
  option.words.clear();
  return option;
}

bool starts_program(const KnownCommand& command) { return command.name == "run"; }

std::string value_options(const std::vector<KnownCommand>& commands) {
  std::string names;
  for (const KnownCommand& command : commands) {
    if (!starts_program(command)) continue;
    for (const KnownOption& option : command.options) {
      if (option.value.empty() || option.value_may_miss) continue;
      for (const std::string& name : option.names) names += " " + name;
    }
  }
  return names;
}

std::string command_names(const std::vector<KnownCommand>& commands) {
  std::string names;
  for (const KnownCommand& command : commands) names += (names.empty() ? "" : " ") + command.name;
  return names;
}

}  // namespace heaptap::app
