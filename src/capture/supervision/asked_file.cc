#include "capture/supervision/asked_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "common/base/small_file.h"
#include "common/base/status_file.h"

namespace heaptap::supervision {
namespace {

// The lines of /proc/TID/status about a thread's rights. (A thread restricted by Landlock can't gain rights, or has
// CAP_SYS_ADMIN.)
constexpr std::string_view kRights[] = {"Uid", "Gid", "Groups", "CapEff", "NoNewPrivs", "Seccomp"};

struct Facts {
  std::string rights;  // empty: not told
  mode_t umask = 0777;
};

// `directory`: of a thread in /proc.
Facts facts_of(const std::string& directory) {
  Facts facts;
  constexpr int kOctal = 8;
  const std::string status = base::read_small_file(directory + "/status");
  for (const std::string_view name : kRights) facts.rights.append(base::status_field(status, name)) += '\n';
  if (status.empty()) return {};
  if (const auto mask = base::status_number(status, "Umask", kOctal)) facts.umask = static_cast<mode_t>(*mask);
  for (const char* name : {"/ns/user", "/ns/mnt"}) facts.rights += base::read_link(directory + name) + "\n";
  facts.rights += base::read_small_file(directory + "/attr/current");  // AppArmor's or SELinux's
  return facts;
}

bool is_same_file(const std::string& one, const std::string& other) {
  struct stat first{};
  struct stat second{};
  return stat(one.c_str(), &first) == 0 && stat(other.c_str(), &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

}  // namespace

int open_asked_file(pid_t thread, const std::string& path, base::UniqueFd& file) {
  const std::string directory = fmt::format("/proc/{}", thread);
  const Facts facts = facts_of(directory);
  const bool may_as_much = !facts.rights.empty() && facts.rights == facts_of("/proc/thread-self").rights;
  if (!may_as_much || !is_same_file(directory + "/root/.", "/")) return ENOTSUP;
  const base::UniqueFd from(open((directory + "/cwd").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!from) return errno;
  // A pipe without a reader is an error, and not waited for.
  constexpr int kWriteAnew = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  file.reset(openat(from.get(), path.c_str(), kWriteAnew, 0666 & ~facts.umask));
  if (!file) return errno;
  (void)fcntl(file.get(), F_SETFL, fcntl(file.get(), F_GETFL) & ~O_NONBLOCK);
  return 0;
}

}  // namespace heaptap::supervision
