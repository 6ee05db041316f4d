// Service that a recording provides while it runs: to clients on this machine, or to the host where the traces are written.
#pragma once
#include <poll.h>

#include <vector>

namespace heaptap::supervision {

class RecordingService {
 public:
  RecordingService() = default;
  RecordingService(const RecordingService&) = delete;
  RecordingService& operator=(const RecordingService&) = delete;
  virtual ~RecordingService() = default;

  virtual void add_waits(std::vector<pollfd>& waits) const = 0;
  // Handles pending requests and news. Never waits.
  virtual void serve() = 0;
  // Whether the peer is gone for good, or wants to detach from all processes.
  [[nodiscard]] virtual bool wants_end() const { return false; }
};

}  // namespace heaptap::supervision
