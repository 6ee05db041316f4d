#include "apps/heaptap/commands/pair_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>

#include "apps/heaptap/commands/terminal.h"
#include "common/base/exit_status.h"
#include "common/base/safe_text.h"
#include "common/base/shell_word.h"
#include "common/base/small_file.h"
#include "common/channel/address.h"
#include "common/channel/key_directory.h"
#include "common/channel/security.h"

namespace heaptap::app {
namespace {

using base::ErrorKind;
using base::fail_as;
using channel::Fingerprint;
using channel::KeyDirectory;

// This machine's name in the other one's log.
std::string own_name() {
  constexpr size_t kMaxNameBytes = 64;
  std::array<char, kMaxNameBytes + 1> name{};
  if (gethostname(name.data(), kMaxNameBytes) != 0 || name.front() == 0) return "host";
  return name.data();
}

base::Result<> print_own_key(const KeyDirectory& directory) {
  const auto own = directory.make_key();
  if (!own) return std::unexpected(own.error());
  const std::string key = Fingerprint::of(own->public_key()).to_text();
  fmt::print("on the target: heaptap-target pair {} {}\n", key, base::shell_word(own_name()));
  return {};
}

base::Result<> add(const KeyDirectory& directory, const char* list, const channel::TrustedKey& key,
                   const std::string& what_now) {
  const auto own = directory.make_key();
  if (!own) return std::unexpected(own.error());
  const auto added = directory.add_trusted(list, key);
  if (!added) return std::unexpected(added.error());
  fmt::print("{}{} ({})\n", what_now, *added ? "" : " already", directory.file(list));
  return {};
}

// Names usable for `-H NAME` and in a line of the list.
base::Result<> check_name(const std::string& name) {
  const bool is_plain =
      std::ranges::none_of(name, [](char letter) { return static_cast<unsigned char>(letter) < ' '; });
  if (channel::is_name_alone(name) && is_plain && base::trimmed(name) == name) return {};
  return fail_as(ErrorKind::kUsage, "pair: invalid target name '{}': at most 63 characters, no : and no /",
                 base::safe_text(name));
}

base::Result<> pair(const PairOptions& options) {
  const auto directory = KeyDirectory::of_user();
  if (!directory) return std::unexpected(directory.error());
  const auto& words = options.words;
  if (words.empty()) return print_own_key(*directory);
  if (const auto host = Fingerprint::parse(words.front())) {
    if (words.size() > 2) return fail_as(ErrorKind::kUsage, "pair: expected a key and at most one name");
    return add(*directory, KeyDirectory::kHosts, {*host, words.size() > 1 ? words[1] : ""},
               "that host may connect here");
  }
  const bool has_name = words.size() == 3;
  const auto target = words.size() == 2 || has_name ? Fingerprint::parse(words[1]) : std::nullopt;
  const std::string address = channel::host_of(words.front());
  if (!target || address.empty()) {
    return fail_as(ErrorKind::kUsage,
                   "pair: expected the target's address and key, as `heaptap-target pair` prints them there: heaptap "
                   "pair 192.168.7.2 SHA256:... board");
  }
  if (has_name) {
    HEAPTAP_TRY(check_name(words[2]));
    HEAPTAP_TRY(add(*directory, KeyDirectory::kTargets, {*target, words[2]},
                    fmt::format("that target is known as {}", base::shell_word(words[2]))));
  }
  return add(*directory, KeyDirectory::kTargets, {*target, address},
             fmt::format("that target is known at {}", address));
}

}  // namespace

int perform(const PairOptions& options) {
  const auto done = pair(options);
  if (done) return 0;
  print_error(fmt::format("heaptap: {}\n", done.error().message));
  return base::exit_status_of(done.error().kind);
}

}  // namespace heaptap::app
