// The options of `heaptap run` and `heaptap attach`: the same, with what they work on said in different ways.
#include <algorithm>
#include <charconv>

#include "app/command_options.h"

namespace heaptap::app {
namespace {

constexpr const char* kRunUsage = "heaptap run [options] [--] PROGRAM [ARG...]";
constexpr const char* kAttachUsage = "heaptap attach [options] PID... [-- PROGRAM [ARG...]]";

// What is written before it is taken apart.
struct Words {
  std::vector<std::string> named;      // processes, behind `attach`
  std::vector<std::string> processes;  // and with -p
  uint64_t duration_ns = 0;
  uint64_t mark_every_ns = 0;
  bool no_follow_exec = false;
  std::string json;  // "-": to stderr; else a file; empty: not asked for
};

void add_processes(CLI::App& app, Words& words) {
  add_list(app, "-p,--pid", words.processes, "Record this running process, too")->type_name("PID");
  add_duration(app, "--mark-every", words.mark_every_ns, "Set a mark named `every` at this interval (10s)");
  add_duration(app, "--duration", words.duration_ns, "Stop recording after this time (30s, 5m, 1h)");
}

void add_recording(CLI::App& app, Words& words, RunOptions& options) {
  app.add_option("-o,--output", options.output, "Write the trace to FILE (%p: pid, %h: host name)")->type_name("FILE");
  app.add_flag("--force", options.force, "Overwrite the file if it exists");
  add_number(app, "-d,--depth", options.depth, "Record at most N frames of a stack (0: all)");
  app.add_flag("-f,--follow-fork", options.follow_fork,
               "Trace child processes too, also those that execute another program");
  app.add_flag("-e,--follow-exec", options.follow_exec, "attach: go on recording after an exec");
  app.add_flag("--no-follow-exec", words.no_follow_exec, "run: stop recording at an exec");
  add_choice(
      app, "--via", {"agent", "ptrace"}, [&options](const std::string& way) { options.via = way; },
      "How to capture: agent or ptrace (default: what is possible)")
      ->type_name("WAY");
  add_switch(app, "leak-scan", options.leak_scan, "Scan for leaks at the end");
  add_list(app, "--omit", options.omit, "Don't record calls from this object")->type_name("OBJECT");
  app.add_flag("--no-cpp", options.no_cpp, "Record malloc and free below operator new and delete instead of these");
  app.add_flag("--sanity", options.sanity, "List mismatched and bad releases");
  app.add_flag("--aggregate", options.aggregate, "Keep totals per stack in the target, no event log");
  add_size(app, "--aggregate-memory", options.aggregate_memory_bytes,
           "All memory that --aggregate shares with the target (default: 16M)");
  add_choice(
      app, "--on-overflow", {"wait", "drop"},
      [&options](const std::string& policy) { options.drop_on_overflow = policy == "drop"; },
      "When the log is full: wait (default) or drop events")
      ->type_name("POLICY");
  add_size(app, "--log-memory", options.log_memory_bytes,
           "Size of the shared-memory log between program and heaptap (default: 32M)");
}

void add_environment(CLI::App& app, RunOptions& options) {
  app.add_option("--user", options.user, "Run the program as this user")->type_name("USER");
  add_list(app, "-E,--env", options.environment, "Set a variable in the program's environment")
      ->type_name("VAR=VALUE")
      ->check(CLI::Validator(
          [](const std::string& text) {
            const size_t equals = text.find('=');
            return equals == std::string::npos || equals == 0
                       ? fmt::format("'{}' is not an assignment: write it like -E NAME=value", text)
                       : std::string();
          },
          ""));
  add_list(app, "--symbols", options.symbols, "Search for debug information below DIR")->type_name("DIR");
  add_list(app, "--sysroot", options.sysroots, "Search for the target's files below DIR")->type_name("DIR");
  app.add_flag("--debuginfod", options.debuginfod, "Ask the servers of $DEBUGINFOD_URLS");
}

void add_reporting(CLI::App& app, Words& words, RunOptions& options) {
  add_suppressions(app, options.suppressions);
  constexpr uint64_t kMaxStatus = 255;
  add_number(app, "--error-exitcode", options.error_exitcode,
             "Exit with N if there are leaks or bad releases in any process", 0, kMaxStatus);
  add_sort(app, options.sort);
  add_number(app, "-n,--count", options.count, "Show at most N stacks");
  app.add_flag("-q,--quiet", options.quiet, "Print nothing at the end");
  app.add_flag("-v,--verbose", options.verbose, "List all processes at the end");
  app.add_flag("--json{-}", words.json, "Print the summary as JSON at the end, or write it to a file (--json=FILE)");
  add_color(app, options.color);
  add_ignore(app, options.ignores);
  add_skip(app, options.skip);
  add_frame_options(app, options.frames);
  add_config(app);
}

base::Result<std::vector<pid_t>> parse_processes(const std::string& command, const Arguments& words) {
  std::vector<pid_t> processes;
  for (const std::string& word : words) {
    pid_t process = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), process);
    if (error != std::errc() || end != word.data() + word.size() || process <= 0) {
      return base::fail_as(base::ErrorKind::kUsage, "{}: '{}' is not a PID; `pgrep -n NAME` finds a program's", command,
                           word);
    }
    if (std::ranges::find(processes, process) == processes.end()) processes.push_back(process);
  }
  return processes;
}

// What stands before the traced program's command line is `own`; from `begin` on, it is that.
base::Result<Command> parse_recording(CLI::App& app, const char* usage, const Arguments& arguments, size_t begin,
                                      Words& words, RunOptions& options, const Defaults& defaults) {
  const auto split = arguments.begin() + static_cast<std::ptrdiff_t>(begin);
  const auto parsed = parse_with(app, usage, Arguments(arguments.begin(), split), defaults);
  if (!parsed) return std::unexpected(parsed.error());
  if (*parsed) return **parsed;
  options.command.assign(split, arguments.end());
  if (!options.command.empty() && options.command.front() == "--") options.command.erase(options.command.begin());
  words.processes.insert(words.processes.begin(), words.named.begin(), words.named.end());
  auto processes = parse_processes(app.get_name(), words.processes);
  if (!processes) return std::unexpected(std::move(processes).error());
  options.processes = std::move(*processes);
  if (app.count("--duration") > 0) options.duration_ns = words.duration_ns;
  if (app.count("--mark-every") > 0) {
    constexpr uint64_t kLeastNs = 1'000'000;
    if (words.mark_every_ns < kLeastNs) {
      return base::fail_as(base::ErrorKind::kUsage, "--mark-every: 1ms is the least");
    }
    options.mark_every_ns = words.mark_every_ns;
  }
  options.follow_exec =
      !words.no_follow_exec && (options.follow_exec || options.follow_fork || !options.command.empty());
  options.json = words.json == "-";
  if (!options.json) options.json_file = std::move(words.json);
  return options;
}

}  // namespace

base::Result<Command> parse_run(const Arguments& arguments, const Defaults& defaults) {
  RunOptions options;
  Words words;
  CLI::App app("Trace a program from its start: " + std::string(kRunUsage), "run");
  add_recording(app, words, options);
  add_environment(app, options);
  add_reporting(app, words, options);
  add_processes(app, words);
  auto command = parse_recording(app, kRunUsage, arguments, program_begin(app, arguments), words, options, defaults);
  if (!command) return command;
  if (options.command.empty() && options.processes.empty() && std::holds_alternative<RunOptions>(*command)) {
    return base::fail_as(base::ErrorKind::kUsage, "run: no program to trace\nusage: {}", kRunUsage);
  }
  return command;
}

base::Result<Command> parse_attach(const Arguments& arguments, const Defaults& defaults) {
  RunOptions options;
  Words words;
  CLI::App app("Trace running processes; detach at Ctrl-C or after --duration: " + std::string(kAttachUsage), "attach");
  app.add_option("PID", words.named, "The processes");
  add_recording(app, words, options);
  add_environment(app, options);
  add_reporting(app, words, options);
  add_processes(app, words);
  const auto dashes = static_cast<size_t>(std::ranges::find(arguments, "--") - arguments.begin());
  auto command = parse_recording(app, kAttachUsage, arguments, dashes, words, options, defaults);
  if (!command) return command;
  if (options.processes.empty() && std::holds_alternative<RunOptions>(*command)) {
    return base::fail_as(base::ErrorKind::kUsage, "attach: which process? No PID given\nusage: {}", kAttachUsage);
  }
  return command;
}

}  // namespace heaptap::app
