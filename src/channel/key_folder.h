// The folder where a user's keys are: `key`, the private one, made when it is first needed; `authorized_hosts`, the hosts that may
// give orders to this machine's heaptap-target; `known_targets`, the targets that this user's heaptap knows.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "channel/key.h"
#include "channel/trusted_keys.h"

namespace heaptap::channel {

class KeyFolder {
 public:
  static constexpr const char* kHosts = "authorized_hosts";
  static constexpr const char* kTargets = "known_targets";
  static constexpr const char* kVariable = "HEAPTAP_KEYS";

  // $HEAPTAP_KEYS; else root's is /etc/heaptap, a user's $XDG_CONFIG_HOME/heaptap or ~/.config/heaptap. A user without a home has none.
  static base::Result<KeyFolder> of_user();
  explicit KeyFolder(std::string path) : path_(std::move(path)) {}

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }

  // None: it hasn't been made.
  [[nodiscard]] base::Result<std::optional<KeyPair>> read_key() const;
  // Makes folder and key where they aren't there.
  [[nodiscard]] base::Result<KeyPair> make_key() const;
  // Of kHosts or kTargets; empty: there is no such file.
  [[nodiscard]] base::Result<std::vector<TrustedKey>> read_trusted(const char* list) const;
  // False: that key has that name there already.
  [[nodiscard]] base::Result<bool> add_trusted(const char* list, const TrustedKey& key) const;

 private:
  std::string path_;
};

}  // namespace heaptap::channel
