#include "apps/heaptap/doctor/doctor_checks.h"

#include <filesystem>

#include "common/base/shell_word.h"
#include "common/base/units.h"

namespace heaptap::app {
namespace {

constexpr uint64_t kLittleDisk = uint64_t{1} << 30;
constexpr uint64_t kFewFiles = 64;

Check agent_check(const Trials& trials, Need need) {
  if (trials.agent) return {"agent", Verdict::kOk, *trials.agent};
  const bool is_needed = need == Need::kAnything || need == Need::kAgent;
  const std::filesystem::path own(trials.own_path);
  const bool is_in_checkout =
      own.parent_path().filename() == "bin" && own.parent_path().parent_path().filename() == "build";
  return {"agent",
          is_needed ? Verdict::kFail : Verdict::kNote,
          trials.agent.error().message,
          {is_in_checkout ? "./dev build"
                          : fmt::format("./dev install --prefix {}", own.parent_path().parent_path().string())}};
}

// Whether Yama forbids it. Nothing: it doesn't.
std::vector<std::string> fixes_of_scope(const MachineFacts& facts, int scope) {
  if (scope < 3) return {as_root(facts, fmt::format("sysctl kernel.yama.ptrace_scope={}", scope == 1 ? 0 : 1))};
  return {as_root(facts, "sh -c 'echo kernel.yama.ptrace_scope=1 >/etc/sysctl.d/10-ptrace.conf'"),
          as_root(facts, "reboot")};
}

Check tracing_refused(const MachineFacts& facts, const base::Error& error, Need need) {
  const bool is_needed = need == Need::kAnything || need == Need::kTracer;
  Check check{"ptrace", is_needed ? Verdict::kFail : Verdict::kNote, {}};
  const char* const missed = need == Need::kAgent ? "no leak scans" : "no leak scans, no attaching";
  const int scope = facts.ptrace_scope.value_or(0);
  if (scope >= 2) {
    check.text = fmt::format("kernel.yama.ptrace_scope is {}: {}", scope, missed);
    check.fixes = fixes_of_scope(facts, scope);
  } else {
    check.text = fmt::format("{} ({})", facts.has_filter ? "refused by a filter of system calls" : "refused", missed);
    if (!facts.has_filter) check.text += ": " + error.message;
    if (facts.is_root && !facts.may_trace_all) check.fixes = {"docker run --cap-add=SYS_PTRACE ..."};
  }
  return check;
}

Check tracing_check(const MachineFacts& facts, const Trials& trials, Need need) {
  if (!trials.tracing) return tracing_refused(facts, trials.tracing.error(), need);
  if (facts.may_trace_all) return {"ptrace", Verdict::kOk, "allowed for all processes"};
  const int scope = facts.ptrace_scope.value_or(0);
  if (scope == 0) return {"ptrace", Verdict::kOk, "allowed for your processes"};
  return {"ptrace", need == Need::kAnything || need == Need::kAttach ? Verdict::kNote : Verdict::kOk,
          fmt::format("kernel.yama.ptrace_scope is {}: only for what heaptap starts; attaching needs root", scope),
          need == Need::kAnything || need == Need::kAttach ? fixes_of_scope(facts, scope) : std::vector<std::string>{}};
}

void add_privileges(const MachineFacts& facts, std::vector<Check>& checks) {
  if (facts.no_new_privileges) {
    checks.push_back({"privileges", Verdict::kNote,
                      "no_new_privs is set: sudo and setuid programs gain no privileges in this shell"});
  }
  if (facts.has_filter) {
    checks.push_back({"seccomp", Verdict::kNote,
                      "system calls are filtered in this shell: a full log doesn't grow, the program waits instead"});
  }
}

Check memory_check(const Trials& trials) {
  if (!trials.own_needs) return {"memory", Verdict::kFail, trials.own_needs.error().message};
  if (!trials.log_memory) return {"memory", Verdict::kFail, trials.log_memory.error().message};
  return {"memory", Verdict::kOk, "enough for heaptap, and for the log that it shares with the program"};
}

void add_limits(const MachineFacts& facts, std::vector<Check>& checks) {
  if (facts.space_bytes) {
    checks.push_back({"limits",
                      Verdict::kNote,
                      fmt::format("programs get {} of address space (ulimit -v): the log is smaller and doesn't grow",
                                  base::format_bytes(*facts.space_bytes)),
                      {"ulimit -v unlimited"}});
  }
  if (facts.open_files && *facts.open_files < kFewFiles) {
    checks.push_back({"limits",
                      Verdict::kNote,
                      fmt::format("only {} files may be open at once (ulimit -n): few processes can be recorded with "
                                  "--follow-fork",
                                  *facts.open_files),
                      {"ulimit -n 1024"}});
  }
}

Check disk_check(const MachineFacts& facts, const Trials& trials) {
  if (!trials.output) return {"disk", Verdict::kFail, trials.output.error().message, {"cd \"$(mktemp -d)\""}};
  if (!facts.free_bytes) return {"disk", Verdict::kNote, "free space of the working directory is unknown"};
  const std::string text = base::format_bytes(*facts.free_bytes) + " free in the working directory";
  if (*facts.free_bytes >= kLittleDisk) return {"disk", Verdict::kOk, text};
  return {"disk", *facts.free_bytes == 0 ? Verdict::kFail : Verdict::kNote,
          text + ": a trace may need more; write it elsewhere with -o FILE"};
}

Check clock_check(const Trials& trials) {
  if (trials.clock.is_trusted()) return {"clock", Verdict::kOk, "events are ordered by the processors' clocks"};
  const std::string why = trials.clock.doubt == log::ClockDoubt::kNotUsed
                              ? fmt::format("the kernel takes its time from {}", trials.clock.source)
                          : trials.clock.doubt == log::ClockDoubt::kNotWanted ? "HEAPTAP_CLOCK is set"
                                                                              : "no trusted clock of the processors";
  return {"clock", Verdict::kNote, why + ": events are ordered by a shared counter (exact, but slower)"};
}

Check libc_check(const MachineFacts& facts) {
  if (facts.has_libc_debug) return {"libc names", Verdict::kOk, "debug symbols of the C library are installed"};
  Check check{"libc names", Verdict::kNote, "no debug symbols of the C library: its own functions have no lines"};
  if (facts.package_tool == "apt-get") check.fixes = {as_root(facts, "apt-get install libc6-dbg")};
  if (facts.package_tool == "dnf") check.fixes = {as_root(facts, "dnf debuginfo-install glibc")};
  if (facts.package_tool == "zypper") check.fixes = {as_root(facts, "zypper install glibc-debuginfo")};
  return check;  // for pacman, debuginfod has the debug files
}

Check servers_check(const MachineFacts& facts) {
  if (!facts.loads_libraries && !facts.has_debuginfod_find) {
    Check check{
        "debuginfod", Verdict::kNote,
        "this heaptap is a static program, which asks servers by the program debuginfod-find, and that isn't in "
        "PATH"};
    if (facts.package_tool == "apt-get") check.fixes = {as_root(facts, "apt-get install debuginfod")};
    if (facts.package_tool == "dnf") check.fixes = {as_root(facts, "dnf install elfutils-debuginfod-client")};
    return check;
  }
  if (!facts.debuginfod_servers.empty()) {
    return {"debuginfod", Verdict::kOk, "configured in DEBUGINFOD_URLS"};
  }
  const char* const server = facts.package_tool == "apt-get"  ? "https://debuginfod.debian.net"
                             : facts.package_tool == "pacman" ? "https://debuginfod.archlinux.org"
                                                              : "https://debuginfod.elfutils.org";
  return {"debuginfod",
          Verdict::kNote,
          "DEBUGINFOD_URLS isn't set: no server is asked for debug symbols",
          {fmt::format("export DEBUGINFOD_URLS={}", server)}};
}

}  // namespace

std::string as_root(const MachineFacts& facts, const std::string& command) {
  if (facts.is_root) return command;
  if (facts.has_sudo) return "sudo " + command;
  return "su -c " + base::shell_quoted(command);
}

std::vector<Check> check_machine(const MachineFacts& facts, const Trials& trials, Need need) {
  std::vector<Check> checks;
  if (!trials.cpu) checks.push_back({"cpu", Verdict::kFail, trials.cpu.error().message});
  checks.push_back(agent_check(trials, need));
  checks.push_back(tracing_check(facts, trials, need));
  add_privileges(facts, checks);
  checks.push_back(memory_check(trials));
  add_limits(facts, checks);
  checks.push_back(disk_check(facts, trials));
  checks.push_back(clock_check(trials));
  checks.push_back(libc_check(facts));
  checks.push_back(servers_check(facts));
  return checks;
}

}  // namespace heaptap::app
