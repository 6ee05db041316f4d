// Option parsers of the commands, for command_line.cc. `arguments`: after the command's name.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "apps/heaptap/commands/command_line.h"
#include "apps/heaptap/options/machine_options.h"
#include "apps/heaptap/options/option_set.h"

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
base::Result<Command> parse_pair(const Arguments& arguments, const Defaults& defaults);
base::Result<Command> parse_connect(const Arguments& arguments, const Defaults& defaults);
base::Result<Command> parse_mcp(const Arguments& arguments, const Defaults& defaults);
base::Result<Command> parse_top(const Arguments& arguments, const Defaults& defaults);

// Filters of allocations by name and thread, or by time, and symbol sources, for commands that read traces.
void add_name_filters(OptionSet& set, query::Filter& filter);
void add_time_filters(OptionSet& set, query::Window& window);
struct SymbolSources {
  bool has_token =
      true;  // with --token-file for --symbols-server; without, the caller sets the token file on the result
  bool asks_debuginfod = true;  // by default, where $DEBUGINFOD_URLS is set
};
std::shared_ptr<SymbolsServer> add_symbol_sources(OptionSet& set, symbols::ResolverOptions& symbols,
                                                  const SymbolSources& sources = {});
std::shared_ptr<SymbolsServer> add_symbols_server(OptionSet& set,
                                                  std::function<void(std::shared_ptr<SymbolsServer>)> store,
                                                  bool has_token = true);
// --image N: see apps/heaptap/commands/run_traces.h.
Option add_image(OptionSet& set, uint32_t& image);

// --skip, repeatable: functions that aren't allocation sites.
void add_skip(OptionSet& set, std::vector<std::string>& patterns);
// --ignore, repeatable: stacks counted but not listed.
void add_ignore(OptionSet& set, query::Ignores& ignores);
// --full-names, --full-paths, --full-stacks; `full_stacks`: help for the last one.
void add_frame_options(OptionSet& set, findings::FrameTextOptions& frames,
                       const char* full_stacks = "Stacks with library frames and those below main()");
// --config FILE, --no-config: see apps/heaptap/options/settings.h.
void add_config(OptionSet& set);

// Common options of `show` and `leaks`; `has_token` and the result as in SymbolSources and add_symbol_sources().
void add_leak_options(OptionSet& set, ShowOptions& options);
std::shared_ptr<SymbolsServer> add_display_options(OptionSet& set, ShowOptions& options, bool has_token = true);

// -H: another machine, with connection options; for commands that connect to it.
void add_host(OptionSet& set, std::string& host, const std::string& help);
// -H for commands that use a local recorder's connection: connection options are accepted and ignored.
void add_recorded_host(OptionSet& set, std::string& host);
void add_unused_security(OptionSet& set);
inline constexpr const char* kTokenHelp =
    "Secret that both machines share (default: $HEAPTAP_TOKEN, else their keys: heaptap pair)";
void add_token(OptionSet& set, std::string& file);
void add_machine(OptionSet& set, MachineOptions& machine, const std::string& help);

// Parses a PID argument of `command`.
base::Result<pid_t> parse_pid(const std::string& word, const char* command, const char* usage);

// Parses `arguments` after the defaults; returns help as text, and errors with cause, suggestion and usage. None: parsed.
base::Result<std::optional<PrintText>> parse_with(OptionSet& set, const Arguments& arguments, const Defaults& defaults);

// Start of the traced program's own command line: after the first "--", or at the first word that is neither an option of `set` nor an
// option's value.
size_t program_begin(const OptionSet& set, const Arguments& arguments);

// Options shared by several commands. Each such function leaves the set in its last option's group.
void add_color(OptionSet& set, ColorMode& color);
// --json, or --json=VERSION.
Option add_json(OptionSet& set, std::optional<json::Version>& version);
// --NAME and --no-NAME, for a setting that is on by default.
void add_switch(OptionSet& set, const std::string& name, bool& value, const std::string& help,
                const std::string& help_without);
void add_sort(OptionSet& set, std::optional<query::SortKey>& sort);

// --no-roots KIND: roots that don't keep blocks alive.
void add_root_kinds(OptionSet& set, uint8_t& roots);

// --tagged-pointers: pointers with tag bits keep blocks alive.
void add_tagged_pointers(OptionSet& set, uint16_t& heuristics);

void add_suppressions(OptionSet& set, std::vector<std::string>& files);
// For commands that read traces; `carried`: also apply a trace's own suppressions.
void add_suppressions(OptionSet& set, std::vector<std::string>& files, bool& carried);

// Part of a name, or a regular expression.
void add_pattern(OptionSet& set, const std::string& name, std::string& pattern, const std::string& help);

}  // namespace heaptap::app
