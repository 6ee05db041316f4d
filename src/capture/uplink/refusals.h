// Rejected peers with reasons, for the waiting user. Not all are reported if many come at once.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/channel/quota.h"
#include "common/line/line_news.h"
#include "common/line/reliable_line.h"

namespace heaptap::uplink {

class Refusals {
 public:
  void add(const std::string& peer, const base::Error& why, line::TimePoint now);
  std::vector<line::LineNews> take();

 private:
  std::vector<line::LineNews> news_;
  channel::Quota quota_;
  uint64_t unnamed_ = 0;
};

// Reason to reject a host with this greeting; empty: none.
std::string why_not_spoken_with(const line::Greeting& greeting);
// Reason to reject a host that wants to take over a recording, where there is none.
std::string why_nothing_to_take_over();

}  // namespace heaptap::uplink
