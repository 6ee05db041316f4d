// Options of `heaptap run` and `heaptap attach`: identical except for the target's syntax.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include "analysis/symbols/downloads.h"
#include "apps/heaptap/commands/symbols_server.h"
#include "apps/heaptap/options/command_options.h"
#include "apps/heaptap/options/pid_word.h"
#include "apps/heaptap/options/push_options.h"
#include "apps/heaptap/options/report_signal.h"
#include "common/base/nearest_word.h"
#include "common/wire/handshake.h"
#include "record/trace/frame_pool.h"
#include "views/exports/formats.h"

namespace heaptap::app {
namespace {

constexpr const char* kRunUsage = "heaptap run [options] [--] PROGRAM [ARG...]";
constexpr const char* kCollectUsage = "heaptap --collect PID";
constexpr const char* kAttachUsage = "heaptap attach [options] PID... [-- PROGRAM [ARG...]]";

// Option values before parsing.
struct RunWords {
  std::vector<std::string> named;      // processes, after `attach`
  std::vector<std::string> processes;  // and with -p
  uint64_t duration_ns = 0;
  uint64_t mark_every_ns = 0;
  std::string report_signal;
  std::vector<std::string> when;
  bool no_follow_exec = false;
  bool no_follow_fork = false;
  std::string json;  // "-": to stderr; else a file; empty: not asked for
};

std::vector<std::string> report_formats() {
  std::vector<std::string> names;
  for (const exports::Format& format : exports::formats()) names.emplace_back(format.name);
  return names;
}

void add_file(OptionSet& set, RunOptions& options) {
  set.group(OptionGroup::kOutput);
  set.text("-o,--output", options.output, "Write the trace to FILE (%p: pid, %h: host name)").value_name("FILE");
  set.flag("--force", options.force, "Overwrite FILE if it exists");
}

void add_printing(OptionSet& set, RunWords& words, RunOptions& options) {
  set.group(OptionGroup::kOutput);
  set.optional_text("--json", "-", words.json, "Print the summary as JSON at the end, or write it to FILE");
  set.flag("-q,--quiet", options.quiet, "Print nothing at the end");
  set.flag("-v,--verbose", options.verbose, "List all processes at the end");
  add_color(set, options.color);
}

void add_capture(OptionSet& set, RunOptions& options) {
  set.group(OptionGroup::kCapture);
  set.choice(
         "--via", {"agent", "ptrace", "auto"}, [&options](const std::string& way) { options.via = way; },
         "How to capture: agent, ptrace, or auto: the agent if possible, else ptrace (default: auto)")
      .value_name("WAY");
  set.number("-d,--depth", options.depth, "Record at most N frames of a stack (0: all, but of very deep ones)");
  set.choice(
         "--release-stacks", {std::begin(wire::kReleaseStacksNames), std::end(wire::kReleaseStacksNames)},
         [&options](const std::string& word) {
           const auto* const name = std::ranges::find(wire::kReleaseStacksNames, word);
           options.release_stacks = static_cast<wire::ReleaseStacks>(name - std::begin(wire::kReleaseStacksNames));
         },
         "Of stacks of releases, record all, the caller (default), or nothing; --sanity means full")
      .value_name("PART");
  set.flag("--python", options.python,
           "Record Python's frames, in the place of its interpreter's (CPython 3.9 to 3.13; by agent)");
  set.list("--omit", options.omit, "Don't record calls from this object").value_name("OBJECT");
  set.flag("--no-cpp", options.no_cpp, "Record malloc and free below operator new and delete instead of these");
  set.size("--sample", options.sample_interval,
           "Record a block per SIZE allocated bytes, on average (512K), and estimate from these (by agent)");
  set.flag("--aggregate", options.aggregate, "Keep totals per stack in the target, no event log");
  set.size("--aggregate-memory", options.aggregate_memory_bytes,
           "All memory that --aggregate shares with the target (default: 16M)");
  set.choice(
         "--on-overflow", {"wait", "drop"},
         [&options](const std::string& policy) { options.drop_on_overflow = policy == "drop"; },
         "When the log is full: wait (default) or drop events")
      .value_name("POLICY");
  set.size("--log-memory", options.log_memory_bytes,
           "Size of the shared-memory log between program and heaptap (default: 32M)");
}

void add_collector(OptionSet& set, RunOptions& options) {
  set.group(OptionGroup::kCapture);
  set.number("--collector-threads", options.collector_threads,
             "Let heaptap write the trace with at most N threads (default: half of the processors, at most 4)", 1,
             trace::FramePool::kMaxThreads);
}

void add_leak_scan(OptionSet& set, RunOptions& options) {
  set.group(OptionGroup::kCapture);
  add_switch(set, "leak-scan", options.leak_scan, "Scan for leaks at the end", "Make no leak scan at the end");
}

void add_duration(OptionSet& set, RunWords& words) {
  set.group(OptionGroup::kCapture);
  set.duration("--duration", words.duration_ns, "Stop recording after this time (30s, 5m, 1h)");
}

void add_moments(OptionSet& set, RunWords& words, RunOptions& options) {
  set.group(OptionGroup::kCapture);
  set.duration("--mark-every", words.mark_every_ns, "Set a mark named `every` at this interval (10s)");
  set.text("--report-signal", words.report_signal,
           "When the program gets this signal (USR2, RTMIN+3): write what changed into PROGRAM-PID-N.memlog "
           "next to the trace, as at SIGUSR1 to heaptap")
      .value_name("SIG")
      .offer({"USR1", "USR2", "HUP", "RTMIN"});
  set.size(
      "--ring", options.ring.max_bytes,
      "Keep the last SIZE of events in memory, and write them to a file when the program crashes, is killed or fails, "
      "at `heaptap mark`, and at a signal as above");
  set.list("--when", words.when, "With --ring: write them when RULE is met: 'live > 2G', 'growth > 10M/min'")
      .value_name("RULE");
  set.choice(
         "--report-format", report_formats(), [&options](const std::string& format) { options.report_format = format; },
         "Reports at a signal: memlog (default), or all of the recording in a format of `heaptap export --to`")
      .value_name("FORMAT");
}

void add_following(OptionSet& set, RunWords& words, RunOptions& options) {
  set.group(OptionGroup::kProcesses);
  set.flag("-f,--follow-fork", options.follow_fork,
           "Trace child processes too, also those that execute another program");
  set.flag("--no-follow-fork", words.no_follow_fork, "Don't trace child processes");
  const bool is_attach = set.command() == "attach";  // whose default is the other one
  set.flag("-e,--follow-exec", options.follow_exec,
           is_attach ? "Keep recording after an exec (default with -f)" : "Keep recording after an exec (default)");
  set.flag("--no-follow-exec", words.no_follow_exec,
           is_attach ? "Stop recording at an exec (default without -f)" : "Stop recording at an exec");
}

void add_processes(OptionSet& set, RunWords& words, RunOptions& options) {
  set.group(OptionGroup::kProcesses);
  set.list("-p,--pid", words.processes, "Record this running process, too").value_name("PID");
  set.text("--user", options.user, "Run the program as this user, by name or number").value_name("USER[:GROUP]");
  set.list("-E,--env", options.environment, "Set a variable in the program's environment")
      .value_name("VAR=VALUE")
      .check([](const std::string& text) -> base::Result<> {
        const size_t equals = text.find('=');
        if (equals == std::string::npos || equals == 0)
          return base::fail("'{}' is not an assignment: write it like -E NAME=value", text);
        return {};
      });
}

void add_names(OptionSet& set, RunOptions& options) {
  set.group(OptionGroup::kSymbols);
  set.list("--symbols", options.symbols, "Search for debug information below DIR").value_name("DIR");
  set.list("--sysroot", options.sysroots, "Search for the target's files below DIR").value_name("DIR");
  options.debuginfod = symbols::has_debuginfod_servers();
  set.flag("--debuginfod", options.debuginfod, "Ask the servers of $DEBUGINFOD_URLS (the default where it is set)");
  set.flag("--no-debuginfod", [&options] { options.debuginfod = false; }, "Ask no such server");
  add_symbols_server(
      set, [&options](std::shared_ptr<SymbolsServer> server) { options.symbols_server = std::move(server); }, false);
}

void add_fetching(OptionSet& set, RunOptions& options) {
  set.group(OptionGroup::kRemote);
  // `connect` is always for another machine.
  const bool has_host = set.command() != "connect";
  set.flag("--no-fetch", options.no_fetch,
           has_host ? "With -H: don't fetch programs and libraries for names"
                    : "Don't fetch programs and libraries for names");
  set.size("--fetch-limit", options.fetch_limit_bytes,
           has_host ? "With -H: don't fetch files larger than SIZE (default: 64M)"
                    : "Don't fetch files larger than SIZE (default: 64M)");
}

void add_compression(OptionSet& set, RunOptions& options) {
  set.group(OptionGroup::kRemote);
  set.choice(
         "--compress", {line::kCompressionNames.begin(), line::kCompressionNames.end()},
         [&options](const std::string& when) { options.compression = *line::compression_named(when); },
         "With -H: compress events: auto (default: when the connection is slow, and the target has more than one CPU), "
         "always or never")
      .value_name("WHEN");
}

void add_reporting(OptionSet& set, RunOptions& options) {
  set.group(OptionGroup::kReport);
  set.flag("--sanity", options.sanity, "List mismatched and bad releases");
  add_suppressions(set, options.suppressions);
  constexpr uint64_t kMaxStatus = 255;
  set.number("--error-exitcode", options.error_exitcode,
             "Exit with N if there are leaks or bad releases in any process", 0, kMaxStatus);
  add_sort(set, options.sort);
  set.number("-n,--count", options.count, "Show at most N stacks");
  add_ignore(set, options.ignores);
  add_skip(set, options.skip);
  add_frame_options(set, options.frames);
}

// All options of commands that start a recording.
void add_all(OptionSet& set, RunWords& words, RunOptions& options) {
  add_file(set, options);
  add_printing(set, words, options);
  add_capture(set, options);
  add_collector(set, options);
  add_leak_scan(set, options);
  add_duration(set, words);
  add_moments(set, words, options);
  add_following(set, words, options);
  add_processes(set, words, options);
  add_names(set, options);
  add_machine(set, options.machine, "Record on the machine where heaptap-target waits at ADDRESS");
  add_fetching(set, options);
  add_compression(set, options);
  add_push(set, options.push);
  add_reporting(set, options);
  add_config(set);
}

base::Result<> check_ring(const RunOptions& options) {
  constexpr uint64_t kLeastBytes = uint64_t{1} << 20;
  const uint64_t bytes = options.ring.max_bytes;
  const auto refused = [](std::string_view why) { return base::fail_as(base::ErrorKind::kUsage, "{}", why); };
  if (bytes == 0)
    return !options.ring.rules.empty() ? refused("--when is a rule for --ring SIZE: add it") : base::Result<>{};
  if (bytes < kLeastBytes) return refused("--ring: at least 1M");
  if (options.aggregate) return refused("--ring keeps events, of which --aggregate has none: leave out one of them");
  if (options.sample_interval != 0) return refused("--ring can't keep samples (--sample): leave out one of them");
  if (options.error_exitcode)
    return refused(
        "--ring writes nothing if the program ends well, which --error-exitcode would judge: leave out one of them");
  if (!options.machine.is_here()) return refused("--ring keeps events on the program's machine: leave out -H");
  if (options.push.to)
    return refused("--push reads the trace's file, which --ring doesn't write: leave out one of them");
  return {};
}

base::Result<std::vector<pid_t>> parse_processes(const std::string& command, const Arguments& words) {
  std::vector<pid_t> processes;
  for (const std::string& word : words) {
    const auto process = pid_in(word);
    if (!process) {
      return base::fail_as(base::ErrorKind::kUsage, "{}: '{}' is not a PID; `pgrep -n NAME` finds a program's", command,
                           word);
    }
    if (std::ranges::find(processes, *process) == processes.end()) processes.push_back(*process);
  }
  return processes;
}

// The words before the traced program's command line are `own`; that begins at `begin`.
base::Result<Command> parse_recording(OptionSet& set, const Arguments& arguments, size_t begin, RunWords& words,
                                      RunOptions& options, const Defaults& defaults) {
  const auto split = arguments.begin() + static_cast<std::ptrdiff_t>(begin);
  const auto parsed = parse_with(set, Arguments(arguments.begin(), split), defaults);
  if (!parsed) return std::unexpected(parsed.error());
  if (*parsed) return **parsed;
  options.command.assign(split, arguments.end());
  if (!options.command.empty() && options.command.front() == "--") options.command.erase(options.command.begin());
  words.processes.insert(words.processes.begin(), words.named.begin(), words.named.end());
  auto processes = parse_processes(set.command(), words.processes);
  if (!processes) return std::unexpected(std::move(processes).error());
  options.processes = std::move(*processes);
  if (set.is_given("--duration")) options.duration_ns = words.duration_ns;
  if (set.is_given("--mark-every")) {
    constexpr uint64_t kLeastNs = 1'000'000;
    if (words.mark_every_ns < kLeastNs) {
      return base::fail_as(base::ErrorKind::kUsage, "--mark-every: at least 1ms");
    }
    options.mark_every_ns = words.mark_every_ns;
  }
  HEAPTAP_TRY(check_push(options.push));
  for (const std::string& text : words.when) {
    auto rule = ring::LiveRule::parse(text);
    if (!rule) return std::unexpected(std::move(rule).error());
    options.ring.rules.push_back(*std::move(rule));
  }
  HEAPTAP_TRY(check_ring(options));
  if (!words.report_signal.empty()) {
    const auto signal = parse_report_signal(words.report_signal);
    if (!signal) return std::unexpected(signal.error());
    options.report_signal = *signal;
  }
  if (options.symbols_server != nullptr) {
    options.symbols_server->set_token_file(options.machine.token_file);
    HEAPTAP_TRY(options.symbols_server->prepare());
  }
  options.follow_fork = options.follow_fork && !words.no_follow_fork;
  options.follow_exec =
      !words.no_follow_exec && (options.follow_exec || options.follow_fork || !options.command.empty());
  options.json = words.json == "-";
  if (!options.json) options.json_file = std::move(words.json);
  return options;
}

// Options for commands that start a program themselves apply as far as possible. File names are made absolute.
base::Result<> settle_collection(RunOptions& options, const std::string& output) {
  if (options.via == "ptrace") {
    return base::fail_as(base::ErrorKind::kUsage, "--via ptrace: the agent is already loaded into the program");
  }
  std::error_code error;
  options.output = std::filesystem::absolute(output, error).string();
  for (std::string* const file : {&options.push.token_file, &options.push.ca_file}) {
    if (!file->empty()) *file = std::filesystem::absolute(*file, error).string();
  }
  for (std::vector<std::string>* const directories : {&options.symbols, &options.sysroots}) {
    for (std::string& directory : *directories) directory = std::filesystem::absolute(directory, error).string();
  }
  return {};
}

}  // namespace

base::Result<Command> parse_run(const Arguments& arguments, const Defaults& defaults) {
  RunOptions options;
  RunWords words;
  OptionSet set("run", "Trace a program from its start", kRunUsage);
  add_all(set, words, options);
  set.most_used(
      {"-o", "-f", "-p", "-d", "--via", "--duration", "--sanity", "--suppressions", "--error-exitcode", "-H"});
  auto command = parse_recording(set, arguments, program_begin(set, arguments), words, options, defaults);
  if (!command) return command;
  if (options.command.empty() && options.processes.empty() && std::holds_alternative<RunOptions>(*command)) {
    return base::fail_as(base::ErrorKind::kUsage, "run: no program to trace\nusage: {}", kRunUsage);
  }
  return command;
}

base::Result<Command> parse_collect(const Arguments& arguments, const Defaults& defaults) {
  CollectOptions collect;
  RunOptions options;
  RunWords words;
  OptionSet set("run", "Record the program whose agent started this", kCollectUsage);
  add_file(set, options);
  add_printing(set, words, options);
  add_capture(set, options);
  add_collector(set, options);
  add_leak_scan(set, options);
  add_moments(set, words, options);
  add_following(set, words, options);
  add_push(set, options.push);
  add_reporting(set, options);
  add_config(set);
  options.follow_fork = true;  // a daemon is a child of the started process
  options.follow_exec = true;
  options.quiet = true;
  options.number_files = true;
  const auto processes =
      parse_processes("--collect", {arguments.begin(), arguments.begin() + (arguments.empty() ? 0 : 1)});
  if (!processes) return std::unexpected(processes.error());
  const char* const session = std::getenv(wire::kSessionVariable);
  const char* const output = std::getenv(wire::kOutputVariable);
  if (processes->empty() || arguments.size() > 1 || session == nullptr || output == nullptr || *output == '\0') {
    return base::fail_as(base::ErrorKind::kUsage,
                         "{} is for internal use by the agent, see ENVIRONMENT in heaptap(1)\nusage: {}",
                         wire::kCollectOption, kCollectUsage);
  }
  auto command = parse_recording(set, {}, 0, words, options, defaults);
  if (!command || !std::holds_alternative<RunOptions>(*command)) return command;
  collect = {.recording = std::get<RunOptions>(std::move(*command)), .process = processes->front(), .session = session};
  HEAPTAP_TRY(settle_collection(collect.recording, output));
  return collect;
}

base::Result<Command> parse_attach(const Arguments& arguments, const Defaults& defaults) {
  RunOptions options;
  RunWords words;
  OptionSet set("attach", "Trace running processes; detach at Ctrl-C or after --duration", kAttachUsage);
  set.positional("PID", words.named, "The processes");
  add_all(set, words, options);
  set.most_used(
      {"--duration", "-o", "-f", "-e", "-d", "--sanity", "--no-leak-scan", "--suppressions", "--symbols", "-H"});
  const auto dashes = static_cast<size_t>(std::ranges::find(arguments, "--") - arguments.begin());
  auto command = parse_recording(set, arguments, dashes, words, options, defaults);
  if (!command) return command;
  if (options.processes.empty() && std::holds_alternative<RunOptions>(*command)) {
    return base::fail_as(base::ErrorKind::kUsage, "attach: no PID given\nusage: {}", kAttachUsage);
  }
  return command;
}

namespace {

struct ThereCommand {
  std::string_view name;
  base::Result<Command> (*parse)(const Arguments&, const Defaults&);
};
constexpr std::array kThereCommands{
    ThereCommand{"run", parse_run}, ThereCommand{"attach", parse_attach}, ThereCommand{"console", parse_console},
    ThereCommand{"top", parse_top}, ThereCommand{"leaks", parse_leaks},   ThereCommand{"mark", parse_mark},
};

constexpr const char* kConnectUsage =
    "heaptap connect [options] ADDRESS|FILE [PID], or connect ADDRESS run|attach|console|top|leaks|mark ...";

base::Result<Command> unknown_there(const std::string& word) {
  std::vector<std::string> names;
  for (const ThereCommand& command : kThereCommands) names.emplace_back(command.name);
  return base::fail_as(base::ErrorKind::kUsage, "connect: unknown command '{}'{}\nusage: {}", word,
                       base::suggestion(word, names), kConnectUsage);
}

}  // namespace

base::Result<Command> parse_connect(const Arguments& arguments, const Defaults& defaults) {
  if (arguments.size() > 1) {
    const auto* const there = std::ranges::find(kThereCommands, arguments[1], &ThereCommand::name);
    if (there != kThereCommands.end()) {
      Arguments words{"--host=" + arguments[0]};
      words.insert(words.end(), arguments.begin() + 2, arguments.end());
      return there->parse(words, defaults);
    }
  }
  RunOptions options;
  options.machine.takes_over = true;
  RunWords words;
  std::vector<std::string> what;
  OptionSet set("connect",
                "Take over a recording of heaptap-target that has no host (any more), or was written into a file",
                kConnectUsage);
  set.positional(
      "ADDRESS", what,
      "Where `heaptap-target` waits, listen:ADDRESS, or a file of `record`; PID: which of several recordings");
  add_file(set, options);
  add_printing(set, words, options);
  add_collector(set, options);
  add_leak_scan(set, options);
  add_duration(set, words);
  add_names(set, options);
  set.group(OptionGroup::kRemote);
  set.flag("--take-over", options.machine.by_force,
           "Take over from another host with the same key, even if it is connected");
  add_token(set, options.machine.token_file);
  add_fetching(set, options);
  add_push(set, options.push);
  add_reporting(set, options);
  add_config(set);
  set.most_used({"-o", "--duration", "--take-over", "--token-file", "--symbols", "--sysroot", "--suppressions", "-q"});
  auto command = parse_recording(set, arguments, arguments.size(), words, options, defaults);
  if (!command || !std::holds_alternative<RunOptions>(*command)) return command;
  if (what.empty()) {
    return base::fail_as(base::ErrorKind::kUsage, "connect: no address given\nusage: {}", kConnectUsage);
  }
  MachineOptions& machine = std::get<RunOptions>(*command).machine;
  if (what.size() > 1) {
    const bool is_number = std::ranges::all_of(what[1], [](char c) { return c >= '0' && c <= '9'; });
    if (what.size() > 2 || !is_number) {
      return unknown_there(what[is_number ? 2 : 1]);
    }
    const auto process = parse_pid(what[1], "connect", kConnectUsage);
    if (!process) return std::unexpected(process.error());
    machine.process = static_cast<uint64_t>(*process);
  }
  machine.host = what.front();
  return command;
}

}  // namespace heaptap::app
