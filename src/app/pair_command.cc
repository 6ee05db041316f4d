#include "app/pair_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <optional>

#include "app/terminal.h"
#include "base/exit_status.h"
#include "base/shell_word.h"
#include "channel/key_folder.h"
#include "channel/security.h"

namespace heaptap::app {
namespace {

using base::ErrorKind;
using base::fail_as;
using channel::Fingerprint;
using channel::KeyFolder;

// What the other machine calls this one in its log.
std::string own_name() {
  constexpr size_t kMaxNameBytes = 64;
  std::array<char, kMaxNameBytes + 1> name{};
  if (gethostname(name.data(), kMaxNameBytes) != 0 || name.front() == 0) return "host";
  return name.data();
}

base::Result<> print_own_key(const KeyFolder& folder) {
  const auto own = folder.make_key();
  if (!own) return std::unexpected(own.error());
  const std::string key = Fingerprint::of(own->public_key()).to_text();
  fmt::print("on the target: heaptap-target pair {} {}\n", key, base::shell_word(own_name()));
  return {};
}

base::Result<> add(const KeyFolder& folder, const char* list, const channel::TrustedKey& key,
                   const std::string& what_now) {
  const auto own = folder.make_key();
  if (!own) return std::unexpected(own.error());
  const auto added = folder.add_trusted(list, key);
  if (!added) return std::unexpected(added.error());
  fmt::print("{}{} ({})\n", what_now, *added ? "" : ", as it was before", folder.file(list));
  return {};
}

base::Result<> pair(const PairOptions& options) {
  const auto folder = KeyFolder::of_user();
  if (!folder) return std::unexpected(folder.error());
  const auto& words = options.words;
  if (words.empty()) return print_own_key(*folder);
  if (const auto host = Fingerprint::parse(words.front())) {
    if (words.size() > 2) return fail_as(ErrorKind::kUsage, "pair: a key, and one name for it");
    return add(*folder, KeyFolder::kHosts, {*host, words.size() > 1 ? words[1] : ""}, "that host may come here");
  }
  const auto target = words.size() == 2 ? Fingerprint::parse(words[1]) : std::nullopt;
  const std::string address = channel::host_of(words.front());
  if (!target || address.empty()) {
    return fail_as(
        ErrorKind::kUsage,
        "pair: give the target's address and its key, which `heaptap-target pair` prints there: heaptap pair "
        "192.168.7.2 SHA256:...");
  }
  return add(*folder, KeyFolder::kTargets, {*target, address}, fmt::format("that target is known at {}", address));
}

}  // namespace

int perform(const PairOptions& options) {
  const auto done = pair(options);
  if (done) return 0;
  print_error(fmt::format("heaptap: {}\n", done.error().message));
  return base::exit_status_of(done.error().kind);
}

}  // namespace heaptap::app
