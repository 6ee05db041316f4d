#include "heaptap_target/command_line.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/units.h"
#include "base/whole_number.h"

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

// Which commands an option is for.
enum For : unsigned {
  kForLine = 1u << 0,  // to a host: serve, connect, run, attach
  kForServing = 1u << 1,
  kForRecording = 1u << 2,  // begins by itself: run, attach, record
  kForBoth = 1u << 3,       // that and a line: run, attach
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
  if (!read) return fail_as(ErrorKind::kUsage, "{}: '{}' is no number", name, value);
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
  if (*read < kLeastLogBytes) return fail_as(ErrorKind::kUsage, "{}: at least 256K is needed", name);
  bytes = *read;
  return {};
}

base::Result<> add_process(std::string_view name, std::string_view value, Options& options) {
  pid_t process = 0;
  const auto read = set_number(name, value, process);
  if (!read || process <= 0) return fail_as(ErrorKind::kUsage, "{}: '{}' is no PID", name, value);
  options.order.processes.push_back(process);
  return {};
}

base::Result<> choose(std::string_view name, std::string_view value, std::string_view one, std::string_view other) {
  if (value == one || value == other) return {};
  return fail_as(ErrorKind::kUsage, "{}: '{}' is neither {} nor {}", name, value, one, other);
}

base::Result<> set_address(std::string_view value, bool goes, Options& options) {
  if (!options.address.empty()) {
    return fail_as(ErrorKind::kUsage, "there is one address too many: {}: --listen or --connect, once", value);
  }
  options.address = value;
  options.goes_to_host = goes;
  return {};
}

base::Result<> set_compression(std::string_view name, std::string_view value, Options& options) {
  options.compression = remote::compression_named(value);
  if (options.compression) return {};
  return fail_as(ErrorKind::kUsage, "{}: '{}' is none of auto, always, never", name, value);
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

// Options come before or behind the address; what is behind a program's name is the program's.
class Parser {
 public:
  explicit Parser(std::span<const char* const> arguments) : rest_(arguments) {}

  base::Result<Options> parse() {
    if (rest_.empty()) return options_;
    const std::string_view name = next();
    const auto* const command = std::ranges::find(kCommands, name, &NamedCommand::name);
    if (command == kCommands.end()) {
      return fail_as(
          ErrorKind::kUsage,
          "there is no command '{}': serve, connect, run, attach, record, pair, token, status, monitor, report, mark, "
          "clear (heaptap-target --help)",
          name);
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
    remote::RecordOrder& order = options_.order;
    options_.goes_to_host = options_.goes_to_host || options_.command == Command::kConnect;
    if (options_.announce && options_.goes_to_host) {
      return fail_as(ErrorKind::kUsage,
                     "--announce is for serve, which hosts come to, and run and attach with --listen");
    }
    if (options_.command == Command::kMark && options_.address.empty()) {
      return fail_as(ErrorKind::kUsage, "mark: one name, as in `heaptap-target mark warm`");
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
    if (takes_none) return fail_as(ErrorKind::kUsage, "status and monitor take no argument: {}", word);
    if (options_.asks_recordings() && !options_.address.empty()) {
      return fail_as(ErrorKind::kUsage, "there is one argument too many: {}", word);
    }
    const bool takes_process = options_.command == Command::kReport || options_.command == Command::kClear;
    if (takes_process && !base::whole_number<pid_t>(word)) return fail_as(ErrorKind::kUsage, "'{}' is no PID", word);
    if (options_.command == Command::kToken) return fail_as(ErrorKind::kUsage, "token takes no argument: {}", word);
    if (!options_.address.empty()) return fail_as(ErrorKind::kUsage, "there is one address too many: {}", word);
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
      return fail_as(ErrorKind::kUsage, "there is no option '{}' (heaptap-target --help)", name);
    }
    if ((option->of & kinds_of(options_.command)) == 0) return not_for_this(name);
    if (sign == std::string_view::npos && rest_.empty()) return fail_as(ErrorKind::kUsage, "{} needs a value", name);
    return option->set(name, sign == std::string_view::npos ? next() : argument.substr(sign + 1), options_);
  }

  static base::Result<> not_for_this(std::string_view name) {
    return fail_as(ErrorKind::kUsage, "{} is no option of this command (heaptap-target --help)", name);
  }

  std::span<const char* const> rest_;
  Options options_;
};

}  // namespace

base::Result<Options> parse(std::span<const char* const> arguments) { return Parser(arguments).parse(); }

const char* help_text() {
  return "heaptap-target: records programs on this machine for a heaptap on another one\n"
         "\n"
         "  heaptap-target serve [ADDRESS]   waits for the host, which then says: heaptap run -H ADDRESS -- PROGRAM\n"
         "  heaptap-target connect [ADDRESS] goes to the host, where `heaptap run -H listen:ADDRESS` waits; without "
         "an\n"
         "                                   address, or by a NAME alone, to one that announces itself: `-H listen:`\n"
         "  heaptap-target run [--listen ADDRESS|--connect ADDRESS] -- PROGRAM [ARG...]\n"
         "                                   begins at once; the host takes it over: heaptap connect ADDRESS\n"
         "  heaptap-target attach [--listen ADDRESS|--connect ADDRESS] PID...\n"
         "                                   the same with processes that run\n"
         "  heaptap-target record -o FILE -- PROGRAM [ARG...]   (or --pid PID)\n"
         "                                   into a file, for the host: heaptap connect FILE\n"
         "  heaptap-target pair [KEY [NAME]] lets the host of that key come by TCP; `heaptap pair` there says it\n"
         "  heaptap-target token > FILE      a secret for both sides, in place of keys\n"
         "  heaptap-target status            what is recorded here: processes, events, what is lost, the host\n"
         "  heaptap-target monitor           the same every second\n"
         "  heaptap-target report [PID]      the host writes a report of what changed\n"
         "  heaptap-target mark NAME         gives this moment a name\n"
         "  heaptap-target clear [PID]       counts from here on\n"
         "\n"
         "ADDRESS  a UNIX socket's path, HOST:PORT, [IPv6]:PORT, or PORT on loopback; without one a UNIX socket of "
         "this user's\n"
         "\n"
         "  --token-file FILE       what host and target both know, in place of keys (or in $HEAPTAP_TOKEN)\n"
         "  --keys DIR              this machine's key and those of hosts (root: /etc/heaptap; else "
         "~/.config/heaptap)\n"
         "  --announce              tells `heaptap discover` on the local networks where it waits (TCP)\n"
         "  --attach-only           serve, connect: hosts start no programs\n"
         "  --allow PROGRAM         serve, connect: hosts record this program alone; may be given again\n"
         "  --user NAME             serve, connect: all that hosts ask for is done as this user\n"
         "  --no-scan-data          nothing of a program's memory leaves this machine: there are no leak scans\n"
         "  --once                  ends after one recording\n"
         "  --agent FILE            the library that is preloaded; without it libheaptap_agent.so beside this program\n"
         "  --log-memory SIZE       of the log of each process, 256K and more\n"
         "  --buffer SIZE           of what waits for the host, 256K and more (1M)\n"
         "  --compress WHEN         auto (where the line is behind and there is more than one CPU), always, never; "
         "whatever "
         "the host says\n"
         "  --orphan-timeout TIME   so long after the host is gone all is let go, and runs on unrecorded (60s)\n"
         "  --exit-wait TIME        so long at most a process waits with its end for a slow line, to be scanned for "
         "leaks "
         "(10s)\n"
         "  --no-fetch              gives the host no file of a recorded program\n"
         "  --interval TIME         monitor: so long between two looks (1s)\n"
         "  -q, --quiet             says errors alone, and who was refused\n"
         "  --version\n"
         "\n"
         "run, attach and record, which nobody else tells what to record:\n"
         "  --listen ADDRESS        run, attach: hosts come there (default: a UNIX socket of this user's)\n"
         "  --connect ADDRESS       run, attach: goes to the host\n"
         "  --wait                  run, attach: begin when a host is there\n"
         "  -o, --output FILE       record: the file\n"
         "  --force                 record: replaces a file that is there\n"
         "  -p, --pid PID           this running process, too\n"
         "  --duration TIME         then let go of all\n"
         "  -d, --depth N           at most N frames of a stack\n"
         "  -f, --follow-fork       children too, also those that execute another program\n"
         "  -e, --follow-exec       attach: go on after an exec\n"
         "  --via agent|ptrace      how to capture\n"
         "  --on-overflow wait|drop when the log is full\n"
         "  --no-leak-scan          no scan for leaks at the end\n"
         "  --no-cpp                malloc and free below operator new and delete, instead of these\n"
         "  --omit OBJECT           calls from there are no events\n"
         "  -E VAR=VALUE            in the program's environment\n"
         "  --user USER[:GROUP]     runs the program as this user, by name or number\n";
}

}  // namespace heaptap::target
