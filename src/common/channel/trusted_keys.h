// Trusted keys of other ends: a file with one per line, a fingerprint and a name chosen by the user. Lines starting
// with `#` are comments.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/channel/key.h"

namespace heaptap::channel {

struct TrustedKey {
  Fingerprint key;
  std::string name;  // for hosts, used in logs; for targets, the address without a port at which the key is valid
};

// `origin` is for error messages.
base::Result<std::vector<TrustedKey>> parse_trusted_keys(std::string_view text, std::string_view origin);
// None: not in the list.
const TrustedKey* find_key(const std::vector<TrustedKey>& keys, const Fingerprint& key);

}  // namespace heaptap::channel
