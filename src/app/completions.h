// Completions for shells, made from the options that commands have: what is completed and what is accepted can't differ.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "app/known_option.h"

namespace heaptap::app {

struct KnownCommand {
  std::string name;
  std::string summary;
  std::vector<KnownOption> options;
};

// All commands that users know of.
std::vector<KnownCommand> known_commands();

// Where the words come from that can stand for a value.
enum class Source : uint8_t { kWords, kFiles, kDirectories, kTraces, kProcesses, kPrograms, kUsers };
inline constexpr size_t kSourceKinds = 7;
// By the value's name in the help ("FILE", "VIEW TRACE", "PROGRAM|PID"); none: nothing is known that could stand there.
std::vector<Source> sources_of(const KnownOption& option);

bool is_positional(const KnownOption& option);
// What stands without the name of an option; null: nothing does.
const KnownOption* positional_of(const KnownCommand& command);
// Whether what follows belongs to a program that is started.
bool starts_program(const KnownCommand& command);

// The options, each behind a blank, whose values are words of their own, of the commands that start a program.
std::string value_options(const std::vector<KnownCommand>& commands);
// The names of all commands, with blanks between.
std::string command_names(const std::vector<KnownCommand>& commands);

std::string bash_completions(const std::vector<KnownCommand>& commands);
std::string zsh_completions(const std::vector<KnownCommand>& commands);
std::string fish_completions(const std::vector<KnownCommand>& commands);

}  // namespace heaptap::app
