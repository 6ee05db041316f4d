// The other ends that this one trusts, by their keys: a file with one on each line, a fingerprint and a name of the user's choice.
// A line of `#` says something to people.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "channel/key.h"

namespace heaptap::channel {

struct TrustedKey {
  Fingerprint key;
  std::string name;  // of hosts, for logs; of targets, the address without a port at which it is this one
};

// `origin` is for errors.
base::Result<std::vector<TrustedKey>> parse_trusted_keys(std::string_view text, std::string_view origin);
// None: it isn't among them.
const TrustedKey* find_key(const std::vector<TrustedKey>& keys, const Fingerprint& key);

}  // namespace heaptap::channel
