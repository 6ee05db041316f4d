#include "apps/target/pair.h"

#include <sys/stat.h>

#include <optional>

#include "apps/target/host_command.h"
#include "common/base/shell_word.h"
#include "common/channel/key_directory.h"
#include "common/channel/token.h"
#include "common/network/link.h"
#include "common/network/machine_name.h"
#include "common/network/reach.h"

namespace heaptap::target {
namespace {

// The address for hosts of the local network, if there is one.
std::string own_address() {
  const auto best = network::Reach().best_of(network::links_of_machine(network::Where::kNetwork));
  return best ? host_text(*best) : "ADDRESS";
}

// The announced name.
std::string own_name() { return network::display_name(network::machine_name()); }

}  // namespace

base::Result<std::string> pair(const Options& options) {
  auto directory = options.keys.empty() ? channel::KeyDirectory::of_user() : channel::KeyDirectory(options.keys);
  if (!directory) return std::unexpected(std::move(directory).error());
  std::optional<channel::Fingerprint> host;
  if (!options.key.empty()) {
    host = channel::Fingerprint::parse(options.key);
    if (!host) {
      return base::fail_as(base::ErrorKind::kUsage,
                           "pair: '{}' is not a key's fingerprint: `heaptap pair` on the host prints it (SHA256:...)",
                           options.key);
    }
  }
  const auto own = directory->make_key();
  if (!own) return std::unexpected(own.error());
  std::string text;
  if (host) {
    const auto added = directory->add_trusted(channel::KeyDirectory::kHosts, {*host, options.key_name});
    if (!added) return std::unexpected(added.error());
    text += options.key + (*added ? " may connect from now on: " : " could connect already: ") +
            directory->file(channel::KeyDirectory::kHosts) + "\n";
  } else {
    text += "on the host: heaptap pair            prints what to type here\n";
  }
  text += "on the host: heaptap pair " + own_address() + " " + channel::Fingerprint::of(own->public_key()).to_text() +
          " " + base::shell_word(own_name()) + "\n";
  return text;
}

base::Result<std::string> make_token(int output) {
  struct stat facts{};
  if (fstat(output, &facts) == 0 && S_ISREG(facts.st_mode) && (facts.st_mode & (S_IRWXG | S_IRWXO)) != 0 &&
      fchmod(output, S_IRUSR | S_IWUSR) != 0) {
    return base::fail("can't protect the token's file from other users: {}", base::reason_of(errno));
  }
  auto text = channel::Token::make_text();
  if (text) *text += "\n";
  return text;
}

}  // namespace heaptap::target
