// How one heaptap asks another, which traces a process, to do something with it: an abstract UNIX socket that is named after the
// traced process. Only the same user and root are listened to, and only these are believed.
#pragma once
#include <poll.h>
#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace heaptap::collect {

// What came of a scan that was asked for.
struct ScanAnswer {
  uint32_t number = 0;  // of the scan in the trace, from 1 on
  std::string trace;    // its absolute path
};

// Somebody who waits for an answer.
class ControlCall {
 public:
  explicit ControlCall(base::UniqueFd connection) : connection_(std::move(connection)) {}

  void answer(const base::Result<ScanAnswer>& answer);
  [[nodiscard]] int descriptor() const { return connection_.get(); }

 private:
  base::UniqueFd connection_;
};

class ControlSocket {
 public:
  explicit ControlSocket(pid_t process);

  void add_waits(std::vector<pollfd>& waits) const;
  // Who asks for a scan, if somebody does. Never waits.
  std::optional<ControlCall> accept();

 private:
  void take_callers();

  std::deque<ControlCall> callers_;  // who said nothing yet
  base::UniqueFd socket_;            // none where that wasn't possible; closes before the callers do
};

// Asks whoever traces the process for a scan, and waits for it.
base::Result<ScanAnswer> ask_for_scan(pid_t process);

}  // namespace heaptap::collect
