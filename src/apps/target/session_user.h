// User for hosts' recordings, as set by `serve --user`.
#pragma once
#include <optional>
#include <string>

#include "common/base/result.h"
#include "common/base/user_accounts.h"

namespace heaptap::target {

// None: this process's own user. Looked up once, so that a host learns nothing that wasn't reported on the terminal first.
base::Result<std::optional<base::Account>> session_user(const std::string& name);
// Switches this process to that user, with only its groups and no other rights: everything done for a host is limited
// to that user's rights.
base::Result<> become(const base::Account& account);

}  // namespace heaptap::target
