// Commands of the console, over a session. Each group has its own source file.
#pragma once
#include <vector>

#include "apps/heaptap/console/console_session.h"
#include "views/shell/command_table.h"

namespace heaptap::app {

// The session must outlive them.
std::vector<shell::Command> status_commands(ConsoleSession& session);    // recorded processes, cost of recording
std::vector<shell::Command> report_commands(ConsoleSession& session);    // use of memory
std::vector<shell::Command> steering_commands(ConsoleSession& session);  // control of a live recording
std::vector<shell::Command> settings_commands(ConsoleSession& session);
std::vector<shell::Command> program_commands(ConsoleSession& session);  // start of a recording

// Applies settings where options are missing.
void fill_in(const ConsoleSettings& settings, const shell::Words& arguments, ShowOptions& options);

// Completions after `show`, and for commands that take a PID.
shell::Words show_words(ConsoleSession& session, const shell::Words& arguments, const std::string& word);
std::function<shell::Words(const shell::Words&, const std::string&)> pid_words(ConsoleSession& session,
                                                                               shell::Words others = {});

// Figures of all processes, or of the one selected by the settings, for `status` and `monitor`.
base::Result<std::string> status_text(ConsoleSession& session);
// One stack, by its id.
base::Result<> report_stack(ConsoleSession& session, const shell::Words& arguments);
// Last view shown, as options of `show`; none: it was help, which is printed.
base::Result<std::optional<ShowOptions>> last_view(ConsoleSession& session);
// Text of a view of the data counted so far.
base::Result<std::string> glance_text(ConsoleSession& session, const ShowOptions& options);

}  // namespace heaptap::app
