// Fish completions: one call of `complete` per option.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <string_view>

#include "apps/heaptap/completions/completions.h"

namespace heaptap::app {
namespace {

// In single quotes, within which fish knows a backslash.
std::string fish_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char letter : text) {
    if (letter == '\'' || letter == '\\') quoted += '\\';
    quoted += letter;
  }
  return quoted + "'";
}

constexpr std::array<std::string_view, kSourceKinds> kChoices{"",
                                                              "",
                                                              "(__fish_complete_directories)",
                                                              "(__heaptap_traces)",
                                                              "(__heaptap_processes)",
                                                              "(__fish_complete_command)",
                                                              "(__fish_complete_users)"};

// Arguments of `complete` for the possible values.
std::string choices_of(const KnownOption& option) {
  std::string words;
  bool takes_files = false;
  for (const Source source : sources_of(option)) {
    takes_files |= source == Source::kFiles;
    words += words.empty() ? "" : " ";
    words += source == Source::kWords ? fmt::format("{}", fmt::join(option.words, " "))
                                      : std::string(kChoices[static_cast<size_t>(source)]);
  }
  return (takes_files ? " -F" : " -f") + (words.empty() ? "" : " -a " + fish_quoted(words));
}

std::string line_of(const KnownCommand& command, const KnownOption& option) {
  if (begins_with_word(option)) {
    const std::string words = fmt::format("{}", fmt::join(option.words, " "));
    return line_of(command, without_words(option)) +
           fmt::format("complete -c heaptap -n '__heaptap_in {}; and not __fish_seen_subcommand_from {}' -f -a '{}'\n",
                       command.name, words, words);
  }
  std::string line = fmt::format("complete -c heaptap -n '__heaptap_in {}'", command.name);
  for (const std::string& name : option.names) {
    line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  if (!option.value.empty()) line += choices_of(option);
  if (!option.value.empty() && !option.value_may_miss && !is_positional(option)) line += " -r";
  if (!is_positional(option) && !option.help.empty()) line += " -d " + fish_quoted(option.help);
  return line + "\n";
}

constexpr std::string_view kFunctions = R"(
function __heaptap_processes
  for directory in /proc/(string match -r '^[0-9]+$' (command ls /proc))
    test -O $directory; and string replace /proc/ '' $directory
  end
end

function __heaptap_traces
  set -l word (commandline -ct)
  set -l found $word*.htap $word*/
  printf '%s\\n' $found
end

# Whether the words so far are options of this command, not of the program that it starts.
function __heaptap_in
  set -l words (commandline -opc)
  test (count $words) -ge 2; and test "$words[2]" = "$argv[1]"; or return 1
  test "$argv[1]" = run; or return 0
  set -l is_value 0
  for word in $words[3..-1]
    if test $is_value = 1
      set is_value 0
    else if contains -- $word $__heaptap_value_options
      set is_value 1
    else if test "$word" = --; or not string match -q -- '-*' $word
      return 1
    end
  end
end

# Whether this word is the program to run, or one of its arguments.
function __heaptap_starts
  set -l words (commandline -opc)
  test (count $words) -ge 2; or return 1
  not contains -- $words[2] $__heaptap_commands; and return 0
  test "$words[2]" = run; and not __heaptap_in run
end

complete -c heaptap -f
complete -c heaptap -n 'test (count (commandline -opc)) -eq 1' -l help -d 'Print the commands'
complete -c heaptap -n 'test (count (commandline -opc)) -eq 1' -l version -d 'Print the version'
complete -c heaptap -n 'test (count (commandline -opc)) -eq 1' -a '(__fish_complete_command)'
complete -c heaptap -n '__heaptap_starts' -F
)";

}  // namespace

std::string fish_completions(const std::vector<KnownCommand>& commands) {
  std::string text = "# Completions of heaptap for fish, as `heaptap completions fish` prints them.\n";
  text += "set -g __heaptap_commands " + command_names(commands) + "\n";
  text += "set -g __heaptap_value_options" + value_options(commands) + "\n";
  text += kFunctions;
  for (const KnownCommand& command : commands) {
    text += fmt::format("\ncomplete -c heaptap -n 'test (count (commandline -opc)) -eq 1' -a {} -d {}\n", command.name,
                        fish_quoted(command.summary));
    for (const KnownOption& option : command.options) text += line_of(command, option);
    if (starts_program(command)) {
      text += fmt::format("complete -c heaptap -n '__heaptap_in {}' -a '(__fish_complete_command)'\n", command.name);
    }
  }
  return text;
}

}  // namespace heaptap::app
