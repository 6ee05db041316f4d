// The commands of the console, over a session. Each group has a file of its own.
#pragma once
#include <vector>

#include "app/console_session.h"
#include "console/command_table.h"

namespace heaptap::app {

// The session outlives them.
std::vector<console::Command> status_commands(ConsoleSession& session);    // what is recorded, and what that costs
std::vector<console::Command> report_commands(ConsoleSession& session);    // what the memory is used for
std::vector<console::Command> steering_commands(ConsoleSession& session);  // of a recording that goes on
std::vector<console::Command> settings_commands(ConsoleSession& session);
std::vector<console::Command> program_commands(ConsoleSession& session);  // that begin a recording

// What the settings say where the options don't.
void fill_in(const ConsoleSettings& settings, const console::Words& arguments, ShowOptions& options);

// What could stand behind `show`; of any command that takes a PID.
console::Words show_words(ConsoleSession& session, const console::Words& arguments, const std::string& word);
std::function<console::Words(const console::Words&, const std::string&)> pid_words(ConsoleSession& session,
                                                                                   console::Words others = {});

// The figures of all processes, or of the one that the settings name, for `status` and `monitor`.
base::Result<std::string> status_text(ConsoleSession& session);
// One stack, by its number.
base::Result<> report_stack(ConsoleSession& session, const console::Words& arguments);
// The view that was shown last, as options of one command; none: it is help, which was printed.
base::Result<std::optional<ShowOptions>> last_view(ConsoleSession& session);
// A view, of what is counted by now.
base::Result<std::string> glance_text(ConsoleSession& session, const ShowOptions& options);

}  // namespace heaptap::app
