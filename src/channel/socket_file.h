// The file of a UNIX socket that is listened at: of mode 0600 from its first moment, and removed with its owner.
#pragma once
#include <sys/types.h>

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "channel/address.h"

namespace heaptap::channel {

class SocketFile {
 public:
  // Binds the socket. A socket file of this user's whose process is gone is replaced; nothing else is.
  static base::Result<SocketFile> bind(const base::UniqueFd& socket, const Address& address);
  SocketFile(SocketFile&& other) noexcept;
  SocketFile& operator=(SocketFile&&) = delete;
  ~SocketFile();

 private:
  SocketFile(std::string path, dev_t device, ino_t file);

  std::string path_;
  // What was made: another file of that name is somebody else's.
  dev_t device_;
  ino_t file_;
  pid_t maker_;  // a process that was made by that one has a copy of this, and no file
};

}  // namespace heaptap::channel
