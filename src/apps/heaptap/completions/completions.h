// Shell completions, generated from the commands' options, so that completed and accepted options can't differ.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "apps/heaptap/options/known_option.h"

namespace heaptap::app {

struct KnownCommand {
  std::string name;
  std::string summary;
  std::vector<KnownOption> options;
};

// All documented commands.
std::vector<KnownCommand> known_commands();

// Source of the words that complete a value.
enum class Source : uint8_t { kWords, kFiles, kDirectories, kTraces, kProcesses, kPrograms, kUsers };
inline constexpr size_t kSourceKinds = 7;
// By the value's name in the help ("FILE", "VIEW TRACE", "PROGRAM|PID"); empty: no completions.
std::vector<Source> sources_of(const KnownOption& option);

bool is_positional(const KnownOption& option);
// Positional argument; null: none.
const KnownOption* positional_of(const KnownCommand& command);
// Whether the argument is one of its words, and others follow ("VIEW TRACE").
bool begins_with_word(const KnownOption& option);
// The arguments that follow the word.
KnownOption without_words(KnownOption option);
// Whether the remaining arguments are a program's command line.
bool starts_program(const KnownCommand& command);

// Options with a separate value, each preceded by a blank, of the commands that start a program.
std::string value_options(const std::vector<KnownCommand>& commands);
// Names of all commands, separated by blanks.
std::string command_names(const std::vector<KnownCommand>& commands);

std::string bash_completions(const std::vector<KnownCommand>& commands);
std::string zsh_completions(const std::vector<KnownCommand>& commands);
std::string fish_completions(const std::vector<KnownCommand>& commands);

}  // namespace heaptap::app
