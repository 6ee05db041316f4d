#include "common/base/user_accounts.h"

#include <algorithm>
#include <array>

#include "common/base/small_file.h"
#include "common/base/whole_number.h"

namespace heaptap::base {
namespace {

constexpr size_t kMaxFileBytes = size_t{4} << 20;
constexpr size_t kMaxGroups = 65536;  // NGROUPS_MAX of the kernel

// setuid(2), setgid(2): the greatest number means "unchanged".
template <typename Number>
std::optional<Number> account_number(std::string_view word) {
  const auto number = whole_number<Number>(word);
  return number == static_cast<Number>(-1) ? std::nullopt : number;
}

// The first fields of a line; empty if it has fewer.
template <size_t Count>
std::array<std::string_view, Count> fields_of_line(std::string_view line) {
  std::array<std::string_view, Count> fields;
  for (std::string_view& field : fields) {
    const size_t end = std::min(line.find(':'), line.size());
    field = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return fields;
}

// Stops when `take` returns false.
template <typename Take>
void for_each_line(std::string_view text, const Take& take) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (!take(text.substr(0, end))) return;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// A comment, or nss_compat(5)'s syntax.
bool is_account_name(std::string_view name) {
  return !name.empty() && name.front() != '#' && name.front() != '+' && name.front() != '-';
}

std::optional<UserEntry> read_user(std::string_view line) {
  const auto [name, password, user, group] = fields_of_line<4>(line);
  const auto user_number = account_number<uid_t>(user);
  const auto group_number = account_number<gid_t>(group);
  if (!is_account_name(name) || !user_number || !group_number) return std::nullopt;
  return UserEntry{name, *user_number, *group_number};
}

struct GroupEntry {
  std::string_view name;
  gid_t group = 0;
  std::string_view members;  // with commas between
};

std::optional<GroupEntry> read_group(std::string_view line) {
  const auto [name, password, group, members] = fields_of_line<4>(line);
  const auto number = account_number<gid_t>(group);
  if (!is_account_name(name) || !number) return std::nullopt;
  return GroupEntry{name, *number, members};
}

bool is_member(std::string_view members, std::string_view user) {
  while (!members.empty()) {
    const size_t end = std::min(members.find(','), members.size());
    if (members.substr(0, end) == user) return true;
    members.remove_prefix(std::min(end + 1, members.size()));
  }
  return false;
}

template <typename Entry>
std::optional<Entry> first_entry(std::string_view text, std::optional<Entry> (*read)(std::string_view),
                                 const auto& is_wanted) {
  std::optional<Entry> found;
  for_each_line(text, [&](std::string_view line) {
    const auto entry = read(line);
    if (entry && is_wanted(*entry)) found = entry;
    return !found;
  });
  return found;
}

}  // namespace

UserWord split_user_word(std::string_view word) {
  const size_t colon = word.find(':');
  if (colon == std::string_view::npos) return {word, {}};
  return {word.substr(0, colon), word.substr(colon + 1)};
}

std::optional<UserEntry> find_user(std::string_view passwd, std::string_view word) {
  auto found = first_entry<UserEntry>(passwd, read_user, [&](const UserEntry& entry) { return entry.name == word; });
  const auto number = account_number<uid_t>(word);
  if (found || !number) return found;
  return find_user(passwd, *number);
}

std::optional<UserEntry> find_user(std::string_view passwd, uid_t user) {
  return first_entry<UserEntry>(passwd, read_user, [&](const UserEntry& entry) { return entry.user == user; });
}

std::optional<gid_t> find_group(std::string_view group_file, std::string_view word) {
  const auto is_named = [&](const GroupEntry& entry) { return entry.name == word; };
  if (const auto found = first_entry<GroupEntry>(group_file, read_group, is_named)) return found->group;
  return account_number<gid_t>(word);
}

std::vector<gid_t> groups_of(std::string_view group_file, std::string_view user, gid_t primary) {
  std::vector<gid_t> groups;
  for_each_line(group_file, [&](std::string_view line) {
    const auto entry = read_group(line);
    const bool is_in = entry && entry->group != primary && is_member(entry->members, user);
    if (is_in && std::ranges::find(groups, entry->group) == groups.end()) groups.push_back(entry->group);
    return groups.size() < kMaxGroups;
  });
  return groups;
}

Result<Account> account_of(std::string_view word, std::string_view passwd, std::string_view group_file) {
  const UserWord words = split_user_word(word);
  const auto entry = find_user(passwd, words.user);
  const auto number = account_number<uid_t>(words.user);
  if (!entry && !number) return fail_as(ErrorKind::kUsage, "--user {}: no such user", word);
  if (words.user.size() < word.size()) {
    const auto group = find_group(group_file, words.group);
    if (!group) return fail_as(ErrorKind::kUsage, "--user {}: no such group", word);
    return Account{.user = entry ? entry->user : *number, .group = *group, .groups = {}};
  }
  if (!entry) {
    return fail_as(ErrorKind::kUsage,
                   "--user {}: no user has this number, so its group is unknown: use --user {}:GROUP", word, word);
  }
  return Account{
      .user = entry->user, .group = entry->group, .groups = groups_of(group_file, entry->name, entry->group)};
}

Result<Account> look_up_account(std::string_view word) {
  return account_of(word, read_small_file("/etc/passwd", kMaxFileBytes), read_small_file("/etc/group", kMaxFileBytes));
}

}  // namespace heaptap::base
