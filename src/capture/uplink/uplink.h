// Event sink of the target's side: a line to the host (LineToHost), or a file that a host reads later (RecordingFile).
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

#include "capture/stream/live_heap.h"
#include "common/base/result.h"
#include "common/message/message.h"

namespace heaptap::uplink {

// A process waits for an answer, as long as this at most, before it ends or, if the scan can be left out, runs its exit handlers.
struct ExitWait {
  std::chrono::nanoseconds longest{};
  bool is_optional = false;
};

class Uplink {
 public:
  virtual void send(const message::Message& message) = 0;
  // Whether there is room; without room, deferrable data waits.
  [[nodiscard]] virtual bool has_room() const = 0;
  // Bytes sent that haven't been received yet.
  [[nodiscard]] virtual size_t waiting_bytes() const = 0;
  // Whether the receiver was given up.
  [[nodiscard]] virtual bool is_given_up() const = 0;
  // Live blocks after all data sent of a stream so far, which had `events` events. Takes long on a slow line: `meanwhile` is
  // called repeatedly until they are known. `exit_wait`: where a process waits for it.
  virtual base::Result<stream::LiveBlocks> live_blocks(uint64_t stream, uint64_t events,
                                                       std::optional<ExitWait> exit_wait,
                                                       const std::function<void()>& meanwhile) = 0;

 protected:
  Uplink() = default;
  Uplink(const Uplink&) = default;
  Uplink(Uplink&&) = default;
  Uplink& operator=(const Uplink&) = delete;
  Uplink& operator=(Uplink&&) = delete;
  ~Uplink() = default;
};

}  // namespace heaptap::uplink
