#include "views/shell/command_table.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "common/base/nearest_word.h"
#include "common/base/safe_text.h"

namespace heaptap::shell {

base::Result<std::string> whole_name(std::string_view word, const Words& names, std::string_view what) {
  if (std::ranges::find(names, word) != names.end()) return std::string(word);
  Words fitting;
  if (!word.empty()) {
    std::ranges::copy_if(names, std::back_inserter(fitting), [&](const auto& name) { return name.starts_with(word); });
  }
  if (fitting.size() == 1) return fitting.front();
  if (fitting.empty()) {
    return base::fail_as(base::ErrorKind::kUsage, "unknown {} '{}': one of {}", what, base::safe_text(word),
                         fmt::join(names, ", "));
  }
  return base::fail_as(base::ErrorKind::kUsage, "'{}' is ambiguous: {}", base::safe_text(word),
                       fmt::join(fitting, ", "));
}

void CommandTable::add(Command command) { commands_.push_back(std::move(command)); }

void CommandTable::add(std::vector<Command> commands) {
  for (Command& command : commands) add(std::move(command));
}

base::Result<const Command*> CommandTable::find(const std::string& word) const {
  std::vector<const Command*> fitting;
  for (const Command& command : commands_) {
    const auto fits = [&](const std::string& name) { return name.starts_with(word); };
    if (command.name == word || std::ranges::find(command.aliases, word) != command.aliases.end()) return &command;
    if (!word.empty() && (fits(command.name) || std::ranges::any_of(command.aliases, fits))) {
      fitting.push_back(&command);
    }
  }
  if (fitting.size() == 1) return fitting.front();
  if (fitting.empty()) {
    return base::fail_as(base::ErrorKind::kUsage, "unknown command '{}'{}: `help` lists the commands",
                         base::safe_text(word), base::suggestion(word, names()));
  }
  Words candidates;
  for (const Command* command : fitting) candidates.push_back(command->name);
  return base::fail_as(base::ErrorKind::kUsage, "'{}' is ambiguous: {}", word, fmt::join(candidates, ", "));
}

Words CommandTable::names() const {
  Words names;
  for (const Command& command : commands_) names.push_back(command.name);
  return names;
}

}  // namespace heaptap::shell
