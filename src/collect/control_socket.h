// How one heaptap asks another, which traces a process, to do something with it: an abstract UNIX socket that is named after the
// traced process. Only the same user and root are listened to, and only these are believed.
#pragma once
#include <poll.h>
#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace heaptap::collect {

// What came of a scan that was asked for.
struct ScanAnswer {
  uint32_t number = 0;  // of the scan in the trace; 0: there is none
  std::string text;     // the trace's absolute path; without a scan why there is none
};

// Somebody who waits for an answer.
class ControlCall {
 public:
  explicit ControlCall(int connection) : connection_(connection) {}
  ControlCall(ControlCall&& other) noexcept;
  ControlCall& operator=(ControlCall&&) noexcept;
  ~ControlCall();

  void answer(const ScanAnswer& answer);
  [[nodiscard]] int descriptor() const { return connection_; }

 private:
  int connection_;
};

class ControlSocket {
 public:
  explicit ControlSocket(pid_t process);
  ~ControlSocket();
  ControlSocket(const ControlSocket&) = delete;
  ControlSocket& operator=(const ControlSocket&) = delete;

  void add_waits(std::vector<pollfd>& waits) const;
  // Who asks for a scan, if somebody does. Never waits.
  std::optional<ControlCall> accept();

 private:
  void take_callers();

  int socket_;                       // -1 where that wasn't possible
  std::deque<ControlCall> callers_;  // who said nothing yet
};

// Asks whoever traces the process for a scan, and waits for it.
base::Result<ScanAnswer> ask_for_scan(pid_t process);

}  // namespace heaptap::collect
