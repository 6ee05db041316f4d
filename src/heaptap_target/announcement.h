// `serve --announce`: tells the local networks where this waits for a host.
#pragma once
#include <memory>
#include <string_view>

#include "base/result.h"
#include "channel/address.h"
#include "collect/recording_service.h"
#include "discovery/announcer.h"

namespace heaptap::target {

class Announcement : public collect::RecordingService {
 public:
  // From now on; before that nothing is told. `has_begun`: what is recorded waits for a host that takes it over.
  base::Result<> begin(const channel::Address& address, bool has_token, bool has_begun);
  // There is a local network now on which the address is reached.
  [[nodiscard]] bool is_heard() const;

  // Of a poll(): by then it has something to say. `most`: if it hasn't.
  [[nodiscard]] int longest_wait_ms(int most) const;

  // In a process that was made by the one that tells it: that one's sockets are closed, and nothing is said.
  void leave();
  // What is recorded.
  void set_program(std::string_view program);

  void add_waits(std::vector<pollfd>& waits) const override;
  void serve() override;

 private:
  std::unique_ptr<discovery::Announcer> announcer_;
};

}  // namespace heaptap::target
