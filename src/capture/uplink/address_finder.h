// Asynchronous host name resolution.
#pragma once
#include <poll.h>

#include <optional>
#include <vector>

#include "common/base/result.h"
#include "common/channel/address.h"
#include "common/line/reliable_line.h"

namespace heaptap::uplink {

class AddressFinder {
 public:
  AddressFinder() = default;
  AddressFinder(const AddressFinder&) = delete;
  AddressFinder& operator=(const AddressFinder&) = delete;
  virtual ~AddressFinder() = default;

  // Starts a lookup; cancels a previous one.
  virtual void begin(line::TimePoint now) = 0;
  virtual void add_waits(std::vector<pollfd>& waits) const = 0;
  // None: not resolved yet. At least one address.
  virtual std::optional<base::Result<std::vector<channel::Address>>> proceed(line::TimePoint now) = 0;
};

}  // namespace heaptap::uplink
