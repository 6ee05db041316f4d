// Whom hosts' recordings are made as, where `serve --user` says it.
#pragma once
#include <optional>
#include <string>

#include "base/result.h"
#include "base/user_accounts.h"

namespace heaptap::target {

// None: whom this process runs as. Looked up once, so that hosts find out nothing that the terminal isn't told first.
base::Result<std::optional<base::Account>> session_user(const std::string& name);
// From here on this process is that user's, in its groups alone, and has no other rights: all that it does for a host is what that
// user may do.
base::Result<> become(const base::Account& account);

}  // namespace heaptap::target
