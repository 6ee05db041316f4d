// Zsh completions: one call of _arguments per command.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <string_view>

#include "apps/heaptap/completions/completions.h"
#include "common/base/shell_word.h"

namespace heaptap::app {
namespace {

// A text within a specification of _arguments.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    if (letter == '[' || letter == ']' || letter == ':' || letter == '\\') result += '\\';
    result += letter;
  }
  return result;
}

// For _alternative: a tag, a title and the words.
constexpr std::array<std::string_view, kSourceKinds> kAlternatives{"words:word:",
                                                                   "files:file:_files",
                                                                   "directories:directory:_files -/",
                                                                   "traces:trace:_files -g \"*.htap\"",
                                                                   "processes:process:_heaptap_processes",
                                                                   "programs:program:_command_names -e",
                                                                   "users:user:_users"};

std::string action_of(const KnownOption& option) {
  const std::vector<Source> sources = sources_of(option);
  if (sources.empty()) return " ";
  std::string all = " _alternative";  // after a blank it gets no options for compadd
  for (const Source source : sources) {
    std::string one(kAlternatives[static_cast<size_t>(source)]);
    if (source == Source::kWords) one += fmt::format("({})", fmt::join(option.words, " "));
    if (sources.size() == 1) return one.substr(one.find(':', one.find(':') + 1) + 1);
    all += " \"";
    for (const char letter : one) all += letter == '"' ? "\\\"" : std::string(1, letter);
    all += '"';
  }
  return all;
}

std::string specification(const std::string& name, const KnownOption& option) {
  const bool is_long = name.starts_with("--");
  const char* const joint = option.value.empty() ? "" : option.value_may_miss ? "=-" : is_long ? "=" : "+";
  std::string text = fmt::format("*{}{}[{}]", name, joint, escaped(option.help));
  if (!option.value.empty()) {
    text += fmt::format("{}{}:{}", option.value_may_miss ? "::" : ":", escaped(option.value), action_of(option));
  }
  return base::shell_quoted(text);
}

std::string arguments_of(const KnownCommand& command) {
  std::string text =
      fmt::format("    {})\n      _arguments -s{}", command.name, starts_program(command) ? " -A '-*'" : "");
  for (const KnownOption& option : command.options) {
    for (const std::string& name : option.names) text += " \\\n        " + specification(name, option);
  }
  if (const KnownOption* const option = positional_of(command)) {
    const auto add = [&](const char* which, const KnownOption& argument) {
      text += " \\\n        " + base::shell_quoted(which + escaped(argument.value) + ":" + action_of(argument));
    };
    const bool is_first = begins_with_word(*option);
    if (is_first) add("1:", *option);
    add("*:", is_first ? without_words(*option) : *option);
  }
  if (starts_program(command)) {
    text += " \\\n        '(-)1:program:_command_names -e' '*::argument:_normal'";
  }
  return text + "\n      ;;\n";
}

}  // namespace

std::string zsh_completions(const std::vector<KnownCommand>& commands) {
  std::string text =
      "#compdef heaptap\n"
      "# Completions of heaptap for zsh, as `heaptap completions zsh` prints them.\n\n"
      "_heaptap_processes() {\n"
      "  local -a processes\n"
      "  processes=(/proc/<->(NU:t))\n"
      "  compadd -a processes\n"
      "}\n\n"
      "_heaptap() {\n"
      "  local -a commands\n"
      "  commands=(\n";
  for (const KnownCommand& command : commands) {
    text += "    " + base::shell_quoted(command.name + ":" + escaped(command.summary)) + "\n";
  }
  text +=
      "  )\n"
      "  if ((CURRENT == 2)); then\n"
      "    _describe command commands\n"
      "    _command_names -e\n"
      "    return\n"
      "  fi\n"
      "  shift words\n"
      "  ((CURRENT--))\n"
      "  case $words[1] in\n";
  for (const KnownCommand& command : commands) text += arguments_of(command);
  return text +
         "    *) _normal ;;\n"
         "  esac\n"
         "}\n\n"
         "if [[ $funcstack[1] == _heaptap ]]; then _heaptap \"$@\"; else compdef _heaptap heaptap; fi\n";
}

}  // namespace heaptap::app
