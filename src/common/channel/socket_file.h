// File of a listening UNIX socket: mode 0600 from its creation, removed with its owner.
#pragma once
#include <sys/types.h>

#include <string>

#include "common/base/result.h"
#include "common/base/unique_fd.h"
#include "common/channel/address.h"

namespace heaptap::channel {

class SocketFile {
 public:
  // Binds the socket. Replaces only a socket file of this user whose process is gone.
  static base::Result<SocketFile> bind(const base::UniqueFd& socket, const Address& address);
  SocketFile(SocketFile&& other) noexcept;
  SocketFile& operator=(SocketFile&&) = delete;
  ~SocketFile();

 private:
  SocketFile(std::string path, dev_t device, ino_t file);

  std::string path_;
  // Identity of the created file: a later file of that name isn't ours.
  dev_t device_;
  ino_t file_;
  pid_t maker_;  // a forked child has a copy of this object, but doesn't own the file
};

}  // namespace heaptap::channel
