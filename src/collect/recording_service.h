// Who is served by a recording while it goes on: clients on this machine, or the host where the traces are written.
#pragma once
#include <poll.h>

#include <vector>

namespace heaptap::collect {

class RecordingService {
 public:
  RecordingService() = default;
  RecordingService(const RecordingService&) = delete;
  RecordingService& operator=(const RecordingService&) = delete;
  virtual ~RecordingService() = default;

  virtual void add_waits(std::vector<pollfd>& waits) const = 0;
  // What was asked for meanwhile, and what happened. Never waits.
  virtual void serve() = 0;
  // Whoever is served is gone for good, or wants all to be let go.
  [[nodiscard]] virtual bool wants_end() const { return false; }
};

}  // namespace heaptap::collect
