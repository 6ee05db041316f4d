// Asynchronous host name resolution.
#pragma once
#include <poll.h>

#include <optional>
#include <vector>

#include "base/result.h"
#include "channel/address.h"
#include "remote/reliable_line.h"

namespace heaptap::remote {

class AddressFinder {
 public:
  AddressFinder() = default;
  AddressFinder(const AddressFinder&) = delete;
  AddressFinder& operator=(const AddressFinder&) = delete;
  virtual ~AddressFinder() = default;

  // Starts a lookup; cancels a previous one.
  virtual void begin(TimePoint now) = 0;
  virtual void add_waits(std::vector<pollfd>& waits) const = 0;
  // None: not resolved yet. At least one address.
  virtual std::optional<base::Result<std::vector<channel::Address>>> proceed(TimePoint now) = 0;
};

}  // namespace heaptap::remote
