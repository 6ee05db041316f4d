// Announcement of this host on the local networks (`-H listen:` without an address), while it waits for a target.
#pragma once
#include <poll.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "common/base/result.h"
#include "record/remote/line_to_target.h"

namespace heaptap::discovery {
class Announcer;
}

namespace heaptap::app {

class HostAnnouncement : public remote::WaitTeller {
 public:
  HostAnnouncement();
  ~HostAnnouncement() override;

  // Whether this build can announce.
  static base::Result<> check();
  // To be called first: nothing is announced before it.
  void set_service(uint16_t port, bool has_token);

  void add_waits(std::vector<pollfd>& waits) const override;
  void serve(bool is_waiting) override;

 private:
  uint16_t port_ = 0;
  bool has_token_ = false;
  std::unique_ptr<discovery::Announcer> announcer_;
  bool has_failed_ = false;
};

}  // namespace heaptap::app
