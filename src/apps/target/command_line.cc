#include "apps/target/command_line.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "apps/target/discovery.h"
#include "common/base/nearest_word.h"
#include "common/base/units.h"
#include "common/base/whole_number.h"
#include "common/channel/address.h"

namespace heaptap::target {
namespace {

using base::ErrorKind;
using base::fail_as;

constexpr uint64_t kLeastLogBytes = 256u << 10;

struct NamedCommand {
  std::string_view name;
  Command command;
};
constexpr std::array kCommands{
    NamedCommand{"serve", Command::kServe},     NamedCommand{"connect", Command::kConnect},
    NamedCommand{"run", Command::kRun},         NamedCommand{"attach", Command::kAttach},
    NamedCommand{"record", Command::kRecord},   NamedCommand{"pair", Command::kPair},
    NamedCommand{"token", Command::kToken},     NamedCommand{"status", Command::kStatus},
    NamedCommand{"monitor", Command::kMonitor}, NamedCommand{"report", Command::kReport},
    NamedCommand{"mark", Command::kMark},       NamedCommand{"clear", Command::kClear},
    NamedCommand{"--help", Command::kHelp},     NamedCommand{"-h", Command::kHelp},
    NamedCommand{"help", Command::kHelp},       NamedCommand{"--version", Command::kVersion}};

// Commands that an option applies to.
enum For : unsigned {
  kForLine = 1u << 0,  // with a host: serve, connect, run, attach
  kForServing = 1u << 1,
  kForRecording = 1u << 2,  // that record by themselves: run, attach, record
  kForBoth = 1u << 3,       // these with a connection: run, attach
  kForFile = 1u << 4,       // record
  kForPairing = 1u << 5,    // pair
  kForWatching = 1u << 6,   // monitor
  kForAll = ~0u,
};
unsigned kinds_of(Command command) {
  switch (command) {
    case Command::kServe:
    case Command::kConnect:
      return kForLine | kForServing;
    case Command::kRun:
    case Command::kAttach:
      return kForLine | kForRecording | kForBoth;
    case Command::kRecord:
      return kForRecording | kForFile;
    case Command::kPair:
      return kForPairing;
    case Command::kMonitor:
      return kForWatching;
    case Command::kToken:
    case Command::kStatus:
    case Command::kReport:
    case Command::kMark:
    case Command::kClear:
      return 0;
    default:
      return kForAll;
  }
}

struct Flag {
  std::string_view name;
  unsigned of;
  void (*set)(Options& options);
};
constexpr std::array kFlags{
    Flag{"--help", kForAll, [](Options& options) { options.command = Command::kHelp; }},
    Flag{"-h", kForAll, [](Options& options) { options.command = Command::kHelp; }},
    Flag{"--attach-only", kForServing, [](Options& options) { options.attach_only = true; }},
    Flag{"--no-scan-data", kForAll, [](Options& options) { options.no_scan_data = true; }},
    Flag{"--no-fetch", kForLine, [](Options& options) { options.no_fetch = true; }},
    Flag{"--once", kForServing, [](Options& options) { options.once = true; }},
    Flag{"--announce", kForLine, [](Options& options) { options.announce = true; }},
    Flag{"-q", kForAll, [](Options& options) { options.quiet = true; }},
    Flag{"--quiet", kForAll, [](Options& options) { options.quiet = true; }},
    Flag{"--wait", kForBoth, [](Options& options) { options.wait = true; }},
    Flag{"--force", kForFile, [](Options& options) { options.force = true; }},
    Flag{"-f", kForRecording, [](Options& options) { options.order.follow_fork = true; }},
    Flag{"--follow-fork", kForRecording, [](Options& options) { options.order.follow_fork = true; }},
    Flag{"-e", kForRecording, [](Options& options) { options.order.follow_exec = true; }},
    Flag{"--follow-exec", kForRecording, [](Options& options) { options.order.follow_exec = true; }},
    Flag{"--no-cpp", kForRecording, [](Options& options) { options.order.no_cpp = true; }},
    Flag{"--no-leak-scan", kForRecording, [](Options& options) { options.order.leak_scan = false; }},
};

base::Result<> set_number(std::string_view name, std::string_view value, auto& number) {
  const auto read = base::whole_number<std::remove_reference_t<decltype(number)>>(value);
  if (!read) return fail_as(ErrorKind::kUsage, "{}: '{}' is not a number", name, value);
  number = *read;
  return {};
}

base::Result<> set_duration(std::string_view name, std::string_view value,
                            std::optional<std::chrono::nanoseconds>& duration) {
  const auto read = base::parse_duration(value);
  if (!read) return fail_as(ErrorKind::kUsage, "{}: {}", name, read.error().message);
  duration = std::chrono::nanoseconds(*read);
  return {};
}

base::Result<> set_size(std::string_view name, std::string_view value, uint64_t& bytes) {
  const auto read = base::parse_size(value);
  if (!read) return fail_as(ErrorKind::kUsage, "{}: {}", name, read.error().message);
  if (*read < kLeastLogBytes) return fail_as(ErrorKind::kUsage, "{}: at least 256K", name);
  bytes = *read;
  return {};
}

base::Result<> add_process(std::string_view name, std::string_view value, Options& options) {
  pid_t process = 0;
  const auto read = set_number(name, value, process);
  if (!read || process <= 0) return fail_as(ErrorKind::kUsage, "{}: '{}' is not a PID", name, value);
  options.order.processes.push_back(process);
  return {};
}

base::Result<> choose(std::string_view name, std::string_view value, std::string_view one, std::string_view other) {
  if (value == one || value == other) return {};
  return fail_as(ErrorKind::kUsage, "{}: '{}' is not one of {}, {}", name, value, one, other);
}

base::Result<> set_address(std::string_view value, bool goes, Options& options) {
  if (!options.address.empty()) {
    return fail_as(ErrorKind::kUsage, "unexpected second address {}: give --listen or --connect once", value);
  }
  options.address = value;
  options.goes_to_host = goes;
  return {};
}

base::Result<> set_compression(std::string_view name, std::string_view value, Options& options) {
  options.compression = line::compression_named(value);
  if (options.compression) return {};
  return fail_as(ErrorKind::kUsage, "{}: '{}' is not one of auto, always, never", name, value);
}

struct Valued {
  std::string_view name;
  unsigned of;
  base::Result<> (*set)(std::string_view name, std::string_view value, Options& options);
};
using View = std::string_view;

template <auto Member>
base::Result<> store(View /*name*/, View value, Options& options) {
  options.*Member = value;
  return {};
}

constexpr std::array kValued{
    Valued{"--agent", kForAll, store<&Options::agent>},
    Valued{"--token-file", kForLine, store<&Options::token_file>},
    Valued{"--allow", kForServing,
           [](View, View value, Options& options) -> base::Result<> {
             options.allowed.emplace_back(value);
             return {};
           }},
    Valued{"--keys", kForLine | kForPairing, store<&Options::keys>},
    Valued{"--orphan-timeout", kForLine,
           [](View name, View value, Options& options) { return set_duration(name, value, options.orphan_timeout); }},
    Valued{"--exit-wait", kForLine,
           [](View name, View value, Options& options) { return set_duration(name, value, options.exit_wait); }},
    Valued{"--log-memory", kForAll,
           [](View name, View value, Options& options) { return set_size(name, value, options.log_memory_bytes); }},
    Valued{"--interval", kForWatching,
           [](View name, View value, Options& options) -> base::Result<> {
             std::optional<std::chrono::nanoseconds> interval;
             HEAPTAP_TRY(set_duration(name, value, interval));
             options.interval = std::max<std::chrono::nanoseconds>(*interval, std::chrono::milliseconds(10));
             return {};
           }},
    Valued{"--buffer", kForLine,
           [](View name, View value, Options& options) { return set_size(name, value, options.buffer_bytes); }},
    Valued{"--compress", kForAll, set_compression},
    Valued{"--listen", kForBoth, [](View, View value, Options& options) { return set_address(value, false, options); }},
    Valued{"--connect", kForBoth, [](View, View value, Options& options) { return set_address(value, true, options); }},
    Valued{"-o", kForFile, store<&Options::output>},
    Valued{"--output", kForFile, store<&Options::output>},
    Valued{"-p", kForRecording, add_process},
    Valued{"--pid", kForRecording, add_process},
    Valued{"--duration", kForRecording,
           [](View name, View value, Options& options) { return set_duration(name, value, options.duration); }},
    Valued{"-d", kForRecording,
           [](View name, View value, Options& options) { return set_number(name, value, options.order.depth); }},
    Valued{"--depth", kForRecording,
           [](View name, View value, Options& options) { return set_number(name, value, options.order.depth); }},
    Valued{"--release-stacks", kForRecording,
           [](View name, View value, Options& options) {
             options.order.release_stacks = wire::ReleaseStacks::kCaller;
             if (value == "full") options.order.release_stacks = wire::ReleaseStacks::kFull;
             return choose(name, value, "full", "caller");
           }},
    Valued{"--via", kForRecording,
           [](View name, View value, Options& options) {
             options.order.via = value;
             return choose(name, value, "agent", "ptrace");
           }},
    Valued{"--on-overflow", kForRecording,
           [](View name, View value, Options& options) {
             options.order.drop_on_overflow = value == "drop";
             return choose(name, value, "wait", "drop");
           }},
    Valued{"--omit", kForRecording,
           [](View, View value, Options& options) -> base::Result<> {
             options.order.omit.emplace_back(value);
             return {};
           }},
    Valued{"-E", kForRecording,
           [](View, View value, Options& options) -> base::Result<> {
             options.order.environment.emplace_back(value);
             return {};
           }},
    Valued{"--user", kForRecording | kForServing,
           [](View, View value, Options& options) -> base::Result<> {
             (options.begins_by_itself() ? options.order.user : options.user) = value;
             return {};
           }},
};

// " (did you mean serve?)" for a word similar to one of theirs.
std::string suggestion(std::string_view word, const auto& named) {
  std::vector<std::string> names;
  for (const auto& each : named) names.emplace_back(each.name);
  return base::suggestion(word, names);
}

// Options may come before or after the address; words after a program's name are the program's.
class Parser {
 public:
  explicit Parser(std::span<const char* const> arguments) : rest_(arguments) {}

  base::Result<Options> parse() {
    if (rest_.empty()) return options_;
    const std::string_view name = next();
    const auto* const command = std::ranges::find(kCommands, name, &NamedCommand::name);
    if (command == kCommands.end()) {
      return fail_as(ErrorKind::kUsage, "unknown command '{}'{}: `heaptap-target --help` lists the commands", name,
                     suggestion(name, kCommands));
    }
    options_.command = command->command;
    while (!rest_.empty()) HEAPTAP_TRY(take(next()));
    HEAPTAP_TRY(check(name));
    return options_;
  }

 private:
  std::string_view next() {
    const std::string_view argument = rest_.front();
    rest_ = rest_.subspan(1);
    return argument;
  }

  base::Result<> check(std::string_view name) {
    line::RecordOrder& order = options_.order;
    options_.goes_to_host = options_.goes_to_host || options_.command == Command::kConnect;
    if (options_.announce && options_.goes_to_host) {
      return fail_as(ErrorKind::kUsage, "--announce is for serve, and for run and attach with --listen");
    }
    if (options_.announce) HEAPTAP_TRY(check_discovery("--announce"));
    if (options_.goes_by_announcement()) HEAPTAP_TRY(check_discovery("connect without an address"));
    if (options_.command == Command::kMark && options_.address.empty()) {
      return fail_as(ErrorKind::kUsage, "mark: expected one name, as in `heaptap-target mark warm`");
    }
    if (!options_.begins_by_itself()) return {};
    order.follow_exec = order.follow_exec || order.follow_fork || !order.command.empty();
    order.log_memory_bytes = options_.log_memory_bytes;
    if (order.command.empty() && order.processes.empty()) {
      return fail_as(ErrorKind::kUsage, "{} needs {}", name,
                     options_.command == Command::kAttach ? "a PID" : "a program: heaptap-target run -- PROGRAM");
    }
    if (options_.command == Command::kRecord && options_.output.empty()) {
      return fail_as(ErrorKind::kUsage, "record needs a file: heaptap-target record -o FILE -- PROGRAM");
    }
    return {};
  }

  void take_program(std::span<const char* const> words) {
    options_.order.command.assign(words.begin(), words.end());
    rest_ = {};
  }

  base::Result<> take(std::string_view argument) {
    if (argument == "--" && options_.begins_by_itself()) {
      take_program(rest_);
      return {};
    }
    if (!argument.starts_with("-")) return take_word(argument);
    const auto* const flag = std::ranges::find(kFlags, argument, &Flag::name);
    if (flag == kFlags.end()) return take_valued(argument);
    if ((flag->of & kinds_of(options_.command)) == 0) return not_for_this(argument);
    flag->set(options_);
    return {};
  }

  base::Result<> take_word(std::string_view word) {
    if (options_.command == Command::kAttach) return add_process("attach", word, options_);
    if (options_.begins_by_itself()) {
      options_.order.command.emplace_back(word);
      for (const char* const each : rest_) options_.order.command.emplace_back(each);
      rest_ = {};
      return {};
    }
    if (options_.command == Command::kPair) return take_key(word);
    const bool takes_none = options_.command == Command::kStatus || options_.command == Command::kMonitor;
    if (takes_none) return fail_as(ErrorKind::kUsage, "unexpected argument '{}': status and monitor take none", word);
    if (options_.asks_recordings() && !options_.address.empty()) {
      return fail_as(ErrorKind::kUsage, "unexpected argument '{}'", word);
    }
    const bool takes_process = options_.command == Command::kReport || options_.command == Command::kClear;
    if (takes_process && !base::whole_number<pid_t>(word)) return fail_as(ErrorKind::kUsage, "'{}' is not a PID", word);
    if (options_.command == Command::kToken)
      return fail_as(ErrorKind::kUsage, "unexpected argument '{}': token takes none", word);
    if (!options_.address.empty()) return fail_as(ErrorKind::kUsage, "unexpected second address '{}'", word);
    options_.address = word;
    return {};
  }

  base::Result<> take_key(std::string_view word) {
    if (options_.key.empty()) {
      options_.key = word;
      return {};
    }
    options_.key_name += (options_.key_name.empty() ? "" : " ") + std::string(word);
    return {};
  }

  base::Result<> take_valued(std::string_view argument) {
    const size_t sign = argument.find('=');
    const std::string_view name = argument.substr(0, sign);
    const auto* const option = std::ranges::find(kValued, name, &Valued::name);
    if (option == kValued.end()) {
      std::string near = suggestion(name, kValued);
      if (near.empty()) near = suggestion(name, kFlags);
      return fail_as(ErrorKind::kUsage, "unknown option {}{}: `heaptap-target --help` lists the options", name, near);
    }
    if ((option->of & kinds_of(options_.command)) == 0) return not_for_this(name);
    if (sign == std::string_view::npos && rest_.empty()) return fail_as(ErrorKind::kUsage, "{} needs a value", name);
    return option->set(name, sign == std::string_view::npos ? next() : argument.substr(sign + 1), options_);
  }

  static base::Result<> not_for_this(std::string_view name) {
    return fail_as(ErrorKind::kUsage, "{} is not an option of this command: `heaptap-target --help` lists the options",
                   name);
  }

  std::span<const char* const> rest_;
  Options options_;
};

}  // namespace

base::Result<Options> parse(std::span<const char* const> arguments) { return Parser(arguments).parse(); }

bool Options::goes_by_announcement() const {
  return goes_to_host && (address.empty() || channel::is_name_alone(address));
}

std::string help_text() {
  std::string text = R"(heaptap-target records programs on this machine for heaptap on another one.

Usage: heaptap-target COMMAND [options]

Commands:
  serve [ADDRESS]         wait for hosts: heaptap run -H ADDRESS -- PROGRAM
)";
  text += kDiscoveryHelp.connect;
  text += R"(  run [--listen ADDRESS|--connect ADDRESS] -- PROGRAM [ARG...]
                          record at once; the host takes it over with heaptap
                          connect ADDRESS
  attach [--listen ADDRESS|--connect ADDRESS] PID...
                          the same with running processes
  record -o FILE [--pid PID] [-- PROGRAM [ARG...]]
                          record into a file, for heaptap connect FILE
  pair [KEY [NAME]]       let the host of that key connect by TCP, as `heaptap
                          pair` there prints it
  token                   print a new secret for both sides, in place of keys
  status                  print what is recorded here
  monitor                 print it every second
  report [PID]            have the host write a report of what changed
  mark NAME               name this moment of the recordings
  clear [PID]             count from here on

ADDRESS is a UNIX socket's path, HOST:PORT, [IPv6]:PORT, or PORT on loopback;
without one it is a UNIX socket of this user's.

Output:
  -o, --output FILE       record: the file
  --force                 record: replace FILE if it exists
  -q, --quiet             print only errors and refused connections

Capture:
  --agent FILE            the library to preload (default:
                          libheaptap_agent.so beside this program)
  --via agent|ptrace      how to capture
  -d, --depth N           record at most N frames of a stack
  --release-stacks full|caller
                          of stacks of releases (default: the caller)
  --duration TIME         stop recording after this time
  --no-leak-scan          make no leak scan at the end
  --no-cpp                record malloc and free below operator new and delete
                          instead of these
  --omit OBJECT           don't record calls from this object; repeatable
  --on-overflow POLICY    when the log is full: wait (default) or drop events
  --log-memory SIZE       size of the log of each process, 256K at least
                          (default: 32M)

Processes:
  -p, --pid PID           record this running process, too; repeatable
  -f, --follow-fork       trace child processes too, also those that execute
                          another program
  -e, --follow-exec       attach: keep recording after an exec
  -E VAR=VALUE            set a variable of the program's environment;
                          repeatable
  --user USER[:GROUP]     run, record: run the program as this user; serve,
                          connect: carry out hosts' requests as this user
  --attach-only           serve, connect: hosts can't start programs
  --allow PROGRAM         serve, connect: hosts can record this program only;
                          repeatable

Remote:
  --listen ADDRESS        run, attach: wait there for the host (default: a UNIX
                          socket of this user's)
  --connect ADDRESS       run, attach: connect to the host
  --token-file FILE       secret shared by host and target, in place of keys
                          (default: $HEAPTAP_TOKEN)
  --keys DIR              directory of this machine's key and those of hosts
                          (default: /etc/heaptap of root, else
                          ~/.config/heaptap)
)";
  text += kDiscoveryHelp.announce;
  text += R"(  --once                  end after one recording
  --wait                  run, attach: begin when a host is connected
  --no-scan-data          send no memory of a program: no leak scans
  --no-fetch              send no file of a recorded program
  --buffer SIZE           memory for data that waits for the host, 256K at least
                          (default: 1M)
  --compress WHEN         compress events, overriding the host: auto (when
                          the connection is slow and there are several CPUs),
                          always or never
  --orphan-timeout TIME   stop recording this long after losing the host;
                          programs continue (default: 60s)
  --exit-wait TIME        how long an exiting process may wait for its leak
                          scan on a slow connection (default: 10s)

Report:
  --interval TIME         monitor: time between two updates (default: 1s)

Other:
  -h, --help              print this help
  --version               print the version
)";
  return text;
}

}  // namespace heaptap::target
