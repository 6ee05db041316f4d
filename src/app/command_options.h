// The options of single commands, for command_line.cc. Each parse function gets what stands behind the command's name.
#pragma once
#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "app/command_line.h"
#include "app/machine_options.h"

namespace heaptap::app {

using Arguments = std::vector<std::string>;

base::Result<Command> parse_run(const Arguments& arguments, const Defaults& defaults);
base::Result<Command> parse_collect(const Arguments& arguments, const Defaults& defaults);
base::Result<Command> parse_attach(const Arguments& arguments, const Defaults& defaults);
base::Result<Command> parse_show(const Arguments& arguments, const Defaults& defaults);
base::Result<Command> parse_check(const Arguments& arguments, const Defaults& defaults);
base::Result<Command> parse_leaks(const Arguments& arguments, const Defaults& defaults);
base::Result<Command> parse_mark(const Arguments& arguments, const Defaults& defaults);
base::Result<Command> parse_doctor(const Arguments& arguments, const Defaults& defaults);
base::Result<Command> parse_completions(const Arguments& arguments, const Defaults& defaults);
base::Result<Command> parse_export(const Arguments& arguments, const Defaults& defaults);
base::Result<Command> parse_report(const Arguments& arguments, const Defaults& defaults);
base::Result<Command> parse_diff(const Arguments& arguments, const Defaults& defaults);
base::Result<Command> parse_console(const Arguments& arguments, const Defaults& defaults);
base::Result<Command> parse_discover(const Arguments& arguments, const Defaults& defaults);
base::Result<Command> parse_symbols(const Arguments& arguments, const Defaults& defaults);
base::Result<Command> parse_connect(const Arguments& arguments, const Defaults& defaults);
base::Result<Command> parse_top(const Arguments& arguments, const Defaults& defaults);

// Which allocations count, by name and thread or by time, and where names come from: of commands that read traces.
void add_name_filters(CLI::App& app, analysis::Query& query);
void add_time_filters(CLI::App& app, analysis::Query& query);
// --symbols-server; with `has_token`, --token-file and --insecure for it, else the caller has them for what is returned.
std::shared_ptr<SymbolsServer> add_symbol_sources(CLI::App& app, symbols::ResolverOptions& symbols,
                                                  bool has_token = true);
std::shared_ptr<SymbolsServer> add_symbols_server(CLI::App& app,
                                                  std::function<void(std::shared_ptr<SymbolsServer>)> store,
                                                  bool has_token = true);
// --image N: see app/run_traces.h.
CLI::Option* add_image(CLI::App& app, uint32_t& image);

// --skip, repeatable: functions that don't name a site.
void add_skip(CLI::App& app, std::vector<std::string>& patterns);
// --ignore, repeatable: stacks that are counted and not listed.
void add_ignore(CLI::App& app, analysis::Ignores& ignores);
// --full-names, --full-paths, --full-stacks.
void add_frame_options(CLI::App& app, report::FrameTextOptions& frames);
// --config FILE, --no-config: see app/settings.h.
void add_config(CLI::App& app);

// What `show` and `leaks` have in common.
void add_leak_options(CLI::App& app, ShowOptions& options);
void add_display_options(CLI::App& app, ShowOptions& options);

// -H: another machine; for commands that connect to it, with what that takes.
void add_host(CLI::App& app, std::string& host, const std::string& help);
// -H of commands that ask the recording here, which has the connection: what it takes is accepted, and not used.
void add_recorded_host(CLI::App& app, std::string& host);
void add_unused_security(CLI::App& app);
void add_machine(CLI::App& app, MachineOptions& machine, const std::string& help);

// A word of `command` that is a process's number.
base::Result<pid_t> parse_pid(const std::string& word, const char* command, const char* usage);

// Lets CLI11 parse, with the options that count by default before the arguments; gives help as text, and errors with the cause, a suggestion and the command's usage.
// Nothing: parsed.
base::Result<std::optional<PrintText>> parse_with(CLI::App& app, const std::string& usage, const Arguments& arguments,
                                                  const Defaults& defaults);

// Where the traced program's own command line begins: behind the first "--", or at the first word that is neither an
// option of `app` nor an option's value.
size_t program_begin(const CLI::App& app, const Arguments& arguments);

// These words are values of the option, which completions offer. Whether others are, too, is another matter.
CLI::Option* offer(CLI::Option* option, const std::vector<std::string>& words);

// Options that several commands share.
void add_color(CLI::App& app, ColorMode& color);
// --NAME and --no-NAME, for what is on unless it is switched off.
void add_switch(CLI::App& app, const std::string& name, bool& value, const std::string& help);
void add_sort(CLI::App& app, analysis::SortKey& sort);

// --no-roots KIND: what doesn't keep a block alive.
void add_root_kinds(CLI::App& app, uint8_t& roots);

void add_suppressions(CLI::App& app, std::vector<std::string>& files);
// Of a command that reads traces; `carried`: those that a trace has from its recording count.
void add_suppressions(CLI::App& app, std::vector<std::string>& files, bool& carried);

// One value for each time that the option is given.
CLI::Option* add_list(CLI::App& app, const std::string& name, std::vector<std::string>& values,
                      const std::string& help);

// A whole number, at least `least`.
CLI::Option* add_number(CLI::App& app, const std::string& name, const std::string& help,
                        std::function<void(uint64_t)> store, uint64_t least = 0, uint64_t most = 0xffffffff);
template <typename Number>
CLI::Option* add_number(CLI::App& app, const std::string& name, Number& value, const std::string& help,
                        uint64_t least = 0, uint64_t most = 0xffffffff) {
  const auto store = [&value](uint64_t number) { value = static_cast<Number>(number); };
  return add_number(app, name, help, store, least, most);
}

// One of some words.
CLI::Option* add_choice(CLI::App& app, const std::string& name, const std::vector<std::string>& words,
                        std::function<void(const std::string&)> store, const std::string& help);

// A part of a name, or a regular expression.
CLI::Option* add_pattern(CLI::App& app, const std::string& name, std::string& pattern, const std::string& help);

// A size that may be missing.
CLI::Option* add_limit(CLI::App& app, const std::string& name, std::optional<uint64_t>& bytes, const std::string& help);

// A size such as 64M, a duration such as 30s.
CLI::Option* add_size(CLI::App& app, const std::string& name, uint64_t& bytes, const std::string& help);
CLI::Option* add_duration(CLI::App& app, const std::string& name, uint64_t& nanoseconds, const std::string& help);

}  // namespace heaptap::app
