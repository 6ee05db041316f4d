// Where a recorded process can be asked for: a socket file in a folder of this user's own, where that can be had, and an abstract
// name for those who don't see that folder (another mount namespace, another environment). Both end with the one who listens; who
// asks believes the folder, and of those behind the abstract name only the process's recorder (control/recorder.h).
#pragma once
#include <array>
#include <optional>

#include "base/result.h"
#include "base/unique_fd.h"
#include "control/address.h"
#include "control/socket_file.h"

namespace heaptap::control {

class ProcessSocket {
 public:
  // Listening, not blocking, at one of the two at least.
  static base::Result<ProcessSocket> create(const ProcessName& process);

  // -1: there is none.
  [[nodiscard]] std::array<int, 2> descriptors() const { return {file_ ? file_->descriptor() : -1, abstract_.get()}; }

 private:
  ProcessSocket() = default;

  std::optional<SocketFile> file_;
  base::UniqueFd abstract_;
};

}  // namespace heaptap::control
