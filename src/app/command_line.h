// The command line: which command, with which options. Says what is wrong with it in the user's words.
#pragma once
#include <string>
#include <variant>
#include <vector>

#include "app/check_command.h"
#include "app/leaks_command.h"
#include "app/run_command.h"
#include "app/show_command.h"
#include "base/result.h"

namespace heaptap::app {

// Help, or the version: only to be printed.
struct PrintText {
  std::string text;
};

using Command = std::variant<PrintText, RunOptions, ShowOptions, LeaksOptions, CheckOptions>;

// `arguments` without the program's own name.
base::Result<Command> parse_command_line(const std::vector<std::string>& arguments);

}  // namespace heaptap::app
