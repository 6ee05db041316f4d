// Who was sent away, and why, for whoever waits there. Of many that come at once not all are named.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "channel/quota.h"
#include "remote/line_news.h"
#include "remote/reliable_line.h"

namespace heaptap::remote {

class Refusals {
 public:
  void add(const std::string& peer, const base::Error& why, TimePoint now);
  std::vector<LineNews> take();

 private:
  std::vector<LineNews> news_;
  channel::Quota quota_;
  uint64_t unnamed_ = 0;
};

// Why nobody speaks with a host that greets like this; empty: nothing is against it.
std::string why_not_spoken_with(const Greeting& greeting);
// The same of one that wants a recording which goes on, where none does.
std::string why_nothing_to_take_over();

}  // namespace heaptap::remote
