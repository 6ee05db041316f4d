// Users and groups as /etc/passwd and /etc/group have them (passwd(5), group(5)), for a static program, which has no name service
// of libc. What is in such a file is not trusted: a line that is none is passed over.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace heaptap::base {

// "USER" or "USER:GROUP", each a name or a number.
struct UserWord {
  std::string_view user;
  std::string_view group;  // empty: the user's own, and all that it is in
};
UserWord split_user_word(std::string_view word);

struct Account {
  uid_t user = 0;
  gid_t group = 0;
  std::vector<gid_t> groups;  // that it is in besides
};

struct UserEntry {
  std::string_view name;
  uid_t user = 0;
  gid_t group = 0;
};
// By name, or else by number; of several the first. It points into the text.
std::optional<UserEntry> find_user(std::string_view passwd, std::string_view word);
std::optional<UserEntry> find_user(std::string_view passwd, uid_t user);
std::optional<gid_t> find_group(std::string_view group_file, std::string_view word);
// Those that have the user as a member, without `primary`, each once.
std::vector<gid_t> groups_of(std::string_view group_file, std::string_view user, gid_t primary);

// What is told by a word, from the contents of both files; "--user WORD: " stands before what is wrong. With a group that is named
// the user is in no other.
Result<Account> account_of(std::string_view word, std::string_view passwd, std::string_view group_file);
// The same of this machine.
Result<Account> look_up_account(std::string_view word);

}  // namespace heaptap::base
