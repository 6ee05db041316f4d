// Where the target's side sends all that it sees of a recording: over a line to the host (HostLine), or into a file that a host
// reads later (RecordingFile).
#pragma once
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "collect/live_heap.h"
#include "control/message.h"
#include "model/tables.h"
#include "remote/row_store.h"

namespace heaptap::remote {

class Outlet {
 public:
  virtual void send(const control::Message& message) = 0;
  // What can wait waits while there is none.
  [[nodiscard]] virtual bool has_room() const = 0;
  // That were sent, and that nobody has yet.
  [[nodiscard]] virtual size_t waiting_bytes() const = 0;
  // Nobody gets it any more.
  [[nodiscard]] virtual bool is_given_up() const = 0;
  // What is alive by all that was sent of a stream up to here, which had so many events. On a slow line it takes long: until it is
  // known, `meanwhile` is called again and again. `exit_wait`: a process waits with its end, so long at most.
  virtual base::Result<collect::LiveBlocks> live_blocks(uint64_t stream, uint64_t events,
                                                        std::optional<std::chrono::nanoseconds> exit_wait,
                                                        const std::function<void()>& meanwhile) = 0;
  // Modules of a stream, from this number on: their files may be asked for.
  virtual void offer_files(uint64_t /*stream*/, size_t /*first*/, pid_t /*process*/,
                           std::span<const model::Module> /*modules*/) {}
  // Rows for unwinding of what has none, as far as they were told; null: nobody tells any.
  [[nodiscard]] virtual RowStore* rows() { return nullptr; }
  // Asks for more. `address`: a link-time address without a row, if one was met, or model::kNoRowAnywhere.
  virtual void want_rows(const std::string& /*build_id*/, std::string_view /*path*/,
                         std::optional<uint64_t> /*address*/) {}

 protected:
  Outlet() = default;
  Outlet(const Outlet&) = default;
  Outlet(Outlet&&) = default;
  Outlet& operator=(const Outlet&) = delete;
  Outlet& operator=(Outlet&&) = delete;
  ~Outlet() = default;
};

}  // namespace heaptap::remote
