// Listening socket file of mode 0600 in a private directory of this user; removed with this object.
#pragma once
#include <sys/types.h>

#include <string>
#include <utility>

#include "common/base/result.h"
#include "common/base/unique_fd.h"

namespace heaptap::endpoint {

class SocketFile {
 public:
  // For a whole recording: <PID of the collector>.sock in make_own_directory().
  static base::Result<SocketFile> create(pid_t collector);
  // Replaces a file without a listener.
  static base::Result<SocketFile> create(const std::string& directory, const std::string& name);
  SocketFile(SocketFile&& other) noexcept;
  SocketFile& operator=(SocketFile&& other) noexcept;
  ~SocketFile();

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int descriptor() const { return socket_.get(); }

 private:
  SocketFile(std::string path, base::UniqueFd socket) : path_(std::move(path)), socket_(std::move(socket)) {}

  std::string path_;
  base::UniqueFd socket_;
};

}  // namespace heaptap::endpoint
