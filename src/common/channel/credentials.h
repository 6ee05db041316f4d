// Credentials of a channel's end: its own key, and the accepted keys of the other end.
#pragma once
#include <vector>

#include "common/channel/key.h"
#include "common/channel/trusted_keys.h"

namespace heaptap::channel {

struct Credentials {
  KeyPair own;
  std::vector<TrustedKey> trusted;
  bool of_token = false;  // both keys are derived from the shared token
};

}  // namespace heaptap::channel
