// Key directory of a user: `key`, the private key, created when first needed; `authorized_hosts`, the hosts that may
// give orders to this machine's heaptap-target; `known_targets`, the targets known to this user's heaptap.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/channel/key.h"
#include "common/channel/trusted_keys.h"

namespace heaptap::channel {

class KeyDirectory {
 public:
  static constexpr const char* kHosts = "authorized_hosts";
  static constexpr const char* kTargets = "known_targets";
  static constexpr const char* kVariable = "HEAPTAP_KEYS";

  // $HEAPTAP_KEYS; else for root /etc/heaptap, for a user $XDG_CONFIG_HOME/heaptap or ~/.config/heaptap. A user without a home has none.
  static base::Result<KeyDirectory> of_user();
  explicit KeyDirectory(std::string path) : path_(std::move(path)) {}

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }

  // None: it hasn't been created.
  [[nodiscard]] base::Result<std::optional<KeyPair>> read_key() const;
  // Creates directory and key where missing.
  [[nodiscard]] base::Result<KeyPair> make_key() const;
  // List kHosts or kTargets; empty: no such file.
  [[nodiscard]] base::Result<std::vector<TrustedKey>> read_trusted(const char* list) const;
  // False: the list has that key with that name already.
  [[nodiscard]] base::Result<bool> add_trusted(const char* list, const TrustedKey& key) const;

 private:
  std::string path_;
};

}  // namespace heaptap::channel
