// Who this end of a channel is, and whom it takes for the other end.
#pragma once
#include <vector>

#include "channel/key.h"
#include "channel/trusted_keys.h"

namespace heaptap::channel {

struct Credentials {
  KeyPair own;
  std::vector<TrustedKey> trusted;
  bool of_token = false;  // both keys come from what both ends know
};

}  // namespace heaptap::channel
