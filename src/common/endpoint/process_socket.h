// Control socket of a recorded process: a socket file in a private directory of this user, if possible, and an abstract name
// for clients that don't see that directory (another mount namespace, another environment). Both end with the listener; a
// client trusts the directory, and of listeners at the abstract name only the process's recorder (views/client/recorder.h).
#pragma once
#include <array>
#include <optional>

#include "common/base/result.h"
#include "common/base/unique_fd.h"
#include "common/endpoint/address.h"
#include "common/endpoint/socket_file.h"

namespace heaptap::endpoint {

class ProcessSocket {
 public:
  // Listens, non-blocking, at one of the two at least.
  static base::Result<ProcessSocket> create(const ProcessName& process);

  // -1: none.
  [[nodiscard]] std::array<int, 2> descriptors() const { return {file_ ? file_->descriptor() : -1, abstract_.get()}; }

 private:
  ProcessSocket() = default;

  std::optional<SocketFile> file_;
  base::UniqueFd abstract_;
};

}  // namespace heaptap::endpoint
