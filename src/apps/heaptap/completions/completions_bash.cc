// Bash completions: tables as functions, and one function that parses the command line by them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <string_view>

#include "apps/heaptap/completions/completions.h"
#include "common/base/shell_word.h"

namespace heaptap::app {
namespace {

// Functions that add each source's words to COMPREPLY.
constexpr std::array<std::string_view, kSourceKinds> kCalls{
    "_heaptap_words ",    "_heaptap_files",    "_heaptap_directories", "_heaptap_traces",
    "_heaptap_processes", "_heaptap_programs", "_heaptap_users"};

std::string calls_of(const KnownOption& option) {
  std::string calls;
  for (const Source source : sources_of(option)) {
    if (!calls.empty()) calls += "; ";
    calls += kCalls[static_cast<size_t>(source)];
    if (source == Source::kWords) calls += base::shell_quoted(fmt::format("{}", fmt::join(option.words, " ")));
  }
  return calls.empty() ? ":" : calls;
}

std::string names_function(const std::vector<KnownCommand>& commands) {
  std::string text = "# The names of a command's options.\n_heaptap_names() {\n  case $1 in\n";
  for (const KnownCommand& command : commands) {
    std::string names;
    for (const KnownOption& option : command.options) {
      for (const std::string& name : option.names) names += (names.empty() ? "" : " ") + name;
    }
    text += fmt::format("    {}) _heaptap_words {} ;;\n", command.name, base::shell_quoted(names));
  }
  return text + "  esac\n}\n\n";
}

// One function for the values of options: values of `needed` follow as a word, the others only after a "=".
std::string values_function(const std::vector<KnownCommand>& commands, bool is_needed) {
  std::string text = is_needed
                         ? "# The values of a command's option; status 1: it takes no value.\n_heaptap_values() {\n"
                         : "# The values of options whose value is optional.\n_heaptap_optional_values() {\n";
  text += "  case \"$1 $2\" in\n";
  for (const KnownCommand& command : commands) {
    for (const KnownOption& option : command.options) {
      if (option.value.empty() || option.value_may_miss == is_needed || is_positional(option)) continue;
      std::string patterns;
      for (const std::string& name : option.names) {
        patterns += fmt::format("{}'{} {}'", patterns.empty() ? "" : " | ", command.name, name);
      }
      text += fmt::format("    {}) {} ;;\n", patterns, calls_of(option));
    }
  }
  return text + "    *) return 1 ;;\n  esac\n}\n\n";
}

std::string arguments_function(const std::vector<KnownCommand>& commands) {
  std::string text = "# The positional arguments of a command.\n_heaptap_arguments() {\n  case $1 in\n";
  for (const KnownCommand& command : commands) {
    const KnownOption* const option = positional_of(command);
    if (option != nullptr) {
      const std::string words = base::shell_quoted(fmt::format("{}", fmt::join(option->words, " ")));
      const std::string others = calls_of(without_words(*option));
      const bool is_first = begins_with_word(*option);
      text += fmt::format("    {}) {}{} ;;\n", command.name,
                          is_first ? fmt::format("_heaptap_is_given {} && {{ {}; return; }}; ", words, others) : "",
                          calls_of(*option));
    }
    if (starts_program(command)) text += fmt::format("    {}) _heaptap_programs ;;\n", command.name);
  }
  return text + "  esac\n}\n\n";
}

constexpr std::string_view kSources =
    R"(_heaptap_words() { mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W "$1" -- "$word"); }
_heaptap_paths() {
  compopt -o filenames 2>/dev/null
  mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen "$@" -- "$word")
}
_heaptap_files() { _heaptap_paths -f; }
_heaptap_directories() { _heaptap_paths -d; }
_heaptap_traces() {
  _heaptap_paths -f -X '!*.htap'
  _heaptap_paths -d
}
_heaptap_programs() { _heaptap_paths -c; }
# Whether one of the words is given already.
_heaptap_is_given() {
  local index
  for ((index = 2; index < COMP_CWORD; index++)); do
    [[ " $1 " != *" ${COMP_WORDS[index]} "* ]] || return 0
  done
  return 1
}
_heaptap_users() { mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -u -- "$word"); }
_heaptap_processes() {
  local directory
  for directory in /proc/[0-9]*; do
    [[ ! -O $directory || ${directory#/proc/} != "$word"* ]] || COMPREPLY+=("${directory#/proc/}")
  done
}

)";

constexpr std::string_view kMain =
    R"(# Of `heaptap run`: sets `program` to the number of the word that is the program; where there is none yet it stays 0.
_heaptap_find_program() {
  local index=2
  while ((index < COMP_CWORD)); do
    case ${COMP_WORDS[index]} in
      --)
        ((index + 1 >= COMP_CWORD)) || program=$((index + 1))
        return
        ;;
      -*)
        if [[ ${COMP_WORDS[index + 1]-} == = ]]; then
          index=$((index + 3))
        elif [[ " $_heaptap_value_options " == *" ${COMP_WORDS[index]} "* ]]; then
          index=$((index + 2))
        else
          index=$((index + 1))
        fi
        ;;
      *)
        program=$index
        return
        ;;
    esac
  done
}

_heaptap() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} program=0
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    _heaptap_words "$_heaptap_commands --help --version"
    [[ $word == -* ]] || _heaptap_programs
    return
  fi
  if [[ " $_heaptap_commands " != *" $command "* ]]; then
    program=1
  elif [[ $command == run ]]; then
    _heaptap_find_program
  fi
  if ((program > 0)); then
    if declare -F _command_offset >/dev/null; then _command_offset "$program"; else _heaptap_files; fi
    return
  fi
  # A "=" is a word of its own in bash.
  if [[ $word == = ]]; then
    word=''
    _heaptap_values "$command" "$before" || _heaptap_optional_values "$command" "$before"
  elif [[ $before == = ]]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
    _heaptap_values "$command" "$before" || _heaptap_optional_values "$command" "$before"
  elif _heaptap_values "$command" "$before"; then
    :
  elif [[ $word == -* ]]; then
    _heaptap_names "$command"
  else
    _heaptap_arguments "$command"
  fi
}
complete -F _heaptap heaptap
)";

}  // namespace

std::string bash_completions(const std::vector<KnownCommand>& commands) {
  std::string text = "# Completions of heaptap for bash, as `heaptap completions bash` prints them.\n";
  text += fmt::format("_heaptap_commands={}\n", base::shell_quoted(command_names(commands)));
  text += fmt::format("_heaptap_value_options={}\n\n", base::shell_quoted(value_options(commands)));
  text += kSources;
  text += names_function(commands) + values_function(commands, true) + values_function(commands, false) +
          arguments_function(commands);
  return text.append(kMain);
}

}  // namespace heaptap::app
