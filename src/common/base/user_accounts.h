// Users and groups from /etc/passwd and /etc/group (passwd(5), group(5)), for a static program without libc's name
// service. The files are not trusted: invalid lines are skipped.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace heaptap::base {

// "USER" or "USER:GROUP", each a name or a number.
struct UserWord {
  std::string_view user;
  std::string_view group;  // empty: the user's primary group, and all supplementary ones
};
UserWord split_user_word(std::string_view word);

struct Account {
  uid_t user = 0;
  gid_t group = 0;
  std::vector<gid_t> groups;  // supplementary groups
};

struct UserEntry {
  std::string_view name;
  uid_t user = 0;
  gid_t group = 0;
};
// Finds a user by name, else by number; the first of several. The result refers to the text.
std::optional<UserEntry> find_user(std::string_view passwd, std::string_view word);
std::optional<UserEntry> find_user(std::string_view passwd, uid_t user);
std::optional<gid_t> find_group(std::string_view group_file, std::string_view word);
// The groups with the user as a member, without `primary`, each once.
std::vector<gid_t> groups_of(std::string_view group_file, std::string_view user, gid_t primary);

// Resolves "USER" or "USER:GROUP" with the contents of both files; errors begin with "--user WORD: ". With a named
// group the user has no other group.
Result<Account> account_of(std::string_view word, std::string_view passwd, std::string_view group_file);
// The same with this machine's files.
Result<Account> look_up_account(std::string_view word);

}  // namespace heaptap::base
