// Announcement of `serve --announce`: tells the local networks the address at which this target waits for a host.
// A build without multicast DNS has none.
#pragma once
#include <memory>
#include <string_view>

#include "capture/supervision/recording_service.h"
#include "common/base/result.h"
#include "common/channel/address.h"

namespace heaptap::discovery {
class Announcer;
}

namespace heaptap::target {

class Announcement : public supervision::RecordingService {
 public:
  Announcement();
  ~Announcement() override;

  // Starts announcing. `has_begun`: a recording waits for a host that takes it over.
  base::Result<> begin(const channel::Address& address, bool has_token, bool has_begun);
  // Whether there is a local network on which the address is reachable.
  [[nodiscard]] bool is_heard() const;

  // poll() timeout until the next packet is due. `most`: maximum.
  [[nodiscard]] int longest_wait_ms(int most) const;

  // Call in a forked child of the announcing process: closes the sockets, sends nothing.
  void leave();
  // What is being recorded.
  void set_program(std::string_view program);

  void add_waits(std::vector<pollfd>& waits) const override;
  void serve() override;

 private:
  std::unique_ptr<discovery::Announcer> announcer_;
};

}  // namespace heaptap::target
