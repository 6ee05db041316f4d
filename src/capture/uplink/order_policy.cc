#include "capture/uplink/order_policy.h"

#include <sys/stat.h>

#include <algorithm>

#include "capture/launch/program_check.h"
#include "common/base/process_file.h"
#include "common/base/shell_word.h"
#include "common/base/small_file.h"

namespace heaptap::uplink {
namespace {

using base::ErrorKind;
using base::fail_as;

// Compares files, not paths: links count.
bool is_same_file(const std::string& one, const std::string& other) {
  struct stat facts{};
  struct stat others{};
  return stat(one.c_str(), &facts) == 0 && stat(other.c_str(), &others) == 0 && facts.st_dev == others.st_dev &&
         facts.st_ino == others.st_ino;
}

}  // namespace

bool OrderPolicy::allows_file(const std::string& path) const {
  return std::ranges::any_of(allowed, [&](const std::string& each) { return is_same_file(each, path); });
}

base::Result<> OrderPolicy::check_program(const line::RecordOrder& order) const {
  if (attach_only) {
    return fail_as(ErrorKind::kUsage,
                   "this target starts no programs (serve --attach-only): `heaptap attach -H` records one that runs");
  }
  if (has_user && !order.user.empty()) {
    return fail_as(ErrorKind::kUsage, "--user: this target chooses the user that programs run as (serve --user)");
  }
  if (allowed.empty()) return {};
  const auto program = launch::find_program(order.command.front());
  if (!program) return std::unexpected(program.error());
  if (!allows_file(program->path)) {
    return fail_as(ErrorKind::kUsage, "{} is not one of the programs that this target records (serve --allow)",
                   program->path);
  }
  // LD_PRELOAD and the like would make it run other code.
  if (!order.environment.empty()) {
    return fail_as(ErrorKind::kUsage,
                   "-E: this target records certain programs only (serve --allow), with an unchanged environment");
  }
  return {};
}

base::Result<> OrderPolicy::check(const line::RecordOrder& order) const {
  if (!order.command.empty()) HEAPTAP_TRY(check_program(order));
  if (allowed.empty()) return {};
  for (const pid_t process : order.processes) {
    if (allows_file(base::process_file(process, "exe"))) continue;
    return fail_as(ErrorKind::kUsage,
                   "process {} doesn't run one of the programs that this target records (serve --allow)", process);
  }
  if (!order.follow_fork && !(order.follow_exec && !order.processes.empty())) return {};
  return fail_as(ErrorKind::kUsage,
                 "--follow-fork, --follow-exec: this target records certain programs only (serve --allow), not others "
                 "that they execute");
}

std::string text_of(const line::RecordOrder& order) {
  std::string text;
  if (!order.command.empty()) {
    text = "runs";
    for (const std::string& word : order.command) text += " " + base::shell_word(word);
    for (const std::string& variable : order.environment) text += " -E " + base::shell_word(variable);
    if (!order.user.empty()) text += " as user " + order.user;
  }
  for (const pid_t process : order.processes) {
    text +=
        (text.empty() ? "attaches to " : ", ") + std::to_string(process) + " (" + base::name_of_process(process) + ")";
  }
  return text;
}

}  // namespace heaptap::uplink
