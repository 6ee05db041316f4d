// How one heaptap asks another, which traces a process, to do something with it: an abstract UNIX socket that is named after the
// traced process. Only the same user and root are listened to, and only these are believed.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "host/base/result.h"

namespace heaptap::app {

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
  ControlCall& operator=(ControlCall&&) = delete;
  ~ControlCall();

  void answer(const ScanAnswer& answer);

 private:
  int connection_;
};

class ControlSocket {
 public:
  explicit ControlSocket(pid_t process);
  ~ControlSocket();
  ControlSocket(const ControlSocket&) = delete;
  ControlSocket& operator=(const ControlSocket&) = delete;

  // Listening, or -1 where that wasn't possible.
  [[nodiscard]] int descriptor() const { return socket_; }
  // Who asks for a scan, if somebody does.
  std::optional<ControlCall> accept();

 private:
  int socket_;
};

// Asks whoever traces the process for a scan, and waits for it.
base::Result<ScanAnswer> ask_for_scan(pid_t process);

}  // namespace heaptap::app
