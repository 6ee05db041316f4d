#include "capture/process/ptrace_refusal.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "capture/process/process_status.h"
#include "common/base/small_file.h"
#include "common/base/user_accounts.h"
#include "common/base/whole_number.h"

namespace heaptap::process {
namespace {

// As /etc/passwd has it: a static program has no other name service.
std::string user_name(uid_t user) {
  const std::string passwd = base::read_small_file("/etc/passwd");
  const auto found = base::find_user(passwd, user);
  return found ? std::string(found->name) : std::to_string(user);
}

RefusalFacts facts_of(pid_t thread, int reason) {
  RefusalFacts facts{.reason = reason, .user = user_name(geteuid()), .is_root = geteuid() == 0};
  const auto status = read_thread_status(thread);
  if (status && status->tracer != 0) {
    facts.tracer = status->tracer;
    facts.tracer_name = base::name_of_process(status->tracer);
  }
  struct stat file{};
  if (stat(("/proc/" + std::to_string(thread)).c_str(), &file) == 0 && file.st_uid != geteuid())
    facts.owner = user_name(file.st_uid);
  const std::string scope = base::read_small_file("/proc/sys/kernel/yama/ptrace_scope");
  facts.scope = base::whole_number<int>(base::trimmed(scope));
  return facts;
}

// Only with CAP_SYS_PTRACE, or for scope 1 by an ancestor.
base::Error scope_refusal(int scope, bool is_root) {
  if (is_root) {
    return base::make_error(
        "kernel.yama.ptrace_scope is {}, and root lacks CAP_SYS_PTRACE here: start the container with "
        "--cap-add=SYS_PTRACE",
        scope);
  }
  if (scope > 1)
    return base::make_error("kernel.yama.ptrace_scope is {}, so only root may: run heaptap with sudo", scope);
  return base::make_error(
      "kernel.yama.ptrace_scope is {}, so only its ancestors and root may: run heaptap with sudo, or allow it: sudo "
      "sysctl kernel.yama.ptrace_scope=0",
      scope);
}

}  // namespace

base::Error refusal_of(const RefusalFacts& facts) {
  if (facts.tracer != 0) {
    return base::make_error(
        "process {} ({}) traces it already, and a process can have one tracer only: end that one first", facts.tracer,
        facts.tracer_name);
  }
  if (facts.reason != EPERM && facts.reason != EACCES) return base::make_error("{}", base::reason_of(facts.reason));
  if (!facts.is_root && !facts.owner.empty()) {
    return base::make_error("it belongs to {}, and you are {}: run heaptap with sudo", facts.owner, facts.user);
  }
  constexpr int kNever = 3;
  if (facts.scope == kNever) {
    return base::make_error(
        "kernel.yama.ptrace_scope is 3, which forbids tracing until the next boot: set another value in /etc/sysctl.d "
        "and reboot");
  }
  if (facts.scope.value_or(0) > 0) return scope_refusal(*facts.scope, facts.is_root);
  if (facts.is_root) {
    return base::make_error(
        "not permitted, not even to root: a container needs --cap-add=SYS_PTRACE, and a security module (SELinux, "
        "AppArmor) may forbid it");
  }
  return base::make_error(
      "it has privileges that heaptap doesn't have (set-user-ID, capabilities): run heaptap with sudo");
}

base::Error ptrace_refusal(pid_t process, pid_t thread, int reason) {
  return base::make_error("can't trace process {} ({}): {}", process, base::name_of_process(process),
                          refusal_of(facts_of(thread, reason)).message);
}

}  // namespace heaptap::process
