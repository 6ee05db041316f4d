// Rejected peers with reasons, for the waiting user. Not all are reported if many come at once.
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

// Reason to reject a host with this greeting; empty: none.
std::string why_not_spoken_with(const Greeting& greeting);
// Reason to reject a host that wants to take over a recording, where there is none.
std::string why_nothing_to_take_over();

}  // namespace heaptap::remote
