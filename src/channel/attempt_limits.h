// How often others may try to get in. An attempt that succeeds costs nothing; one that fails, or that isn't over yet, counts:
//
//   from one network (an IPv4 address, an IPv6 /64, a user of a UNIX socket)    5 at once, then one each 2 s
//   from all networks together                                                   20 at once, then 2 each second
//
// A count is the time at which all of it will be forgotten.
#pragma once
#include <chrono>
#include <string>
#include <vector>

namespace heaptap::channel {

class AttemptLimits {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Whether one of `network` may begin to try. It is counted if so.
  bool begin(const std::string& network, Time now);
  // It got in: as if it hadn't tried.
  void succeeded(const std::string& network);

 private:
  struct Count {
    std::string network;
    Time forgotten_at{};
  };

  std::vector<Count> networks_;  // those with attempts that aren't forgotten
  Time all_forgotten_at_{};
};

}  // namespace heaptap::channel
