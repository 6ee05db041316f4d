#include "apps/target/session_user.h"

#include <grp.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace heaptap::target {

base::Result<std::optional<base::Account>> session_user(const std::string& name) {
  if (name.empty()) return std::nullopt;
  auto account = base::look_up_account(name);
  if (!account) return std::unexpected(std::move(account).error());
  if (geteuid() != 0 && account->user != geteuid()) {
    return base::fail("--user {}: only root can record as another user", name);
  }
  return *std::move(account);
}

base::Result<> become(const base::Account& account) {
  if (geteuid() != 0) return {};  // already this user
  const bool is_done = setgroups(account.groups.size(), account.groups.data()) == 0 &&
                       setresgid(account.group, account.group, account.group) == 0 &&
                       setresuid(account.user, account.user, account.user) == 0;
  if (!is_done) return base::fail("can't become user {}: {}", account.user, base::reason_of(errno));
  // Processes of this user can trace each other, and this one has no more rights than they have.
  (void)prctl(PR_SET_DUMPABLE, 1);
  return {};
}

}  // namespace heaptap::target
