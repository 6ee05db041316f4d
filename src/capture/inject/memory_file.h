// /proc/PID/mem of one program: it stays that program's when the process executes another one. Unlike process::TracedMemory it may wait
// for a page, and starts no thread: for the injector's short-lived processes, whose targets run.
#pragma once
#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "common/base/process_file.h"
#include "common/base/unique_fd.h"

namespace heaptap::inject {

class MemoryFile {
 public:
  // `thread`: a live one of the process.
  explicit MemoryFile(pid_t thread) : file_(open(base::process_file(thread, "mem").c_str(), O_RDWR | O_CLOEXEC)) {}

  [[nodiscard]] bool is_open() const { return static_cast<bool>(file_); }

  size_t read_some(uint64_t address, void* to, size_t bytes) const {
    ssize_t got = -1;
    do {
      got = pread(file_.get(), to, bytes, static_cast<off_t>(address));
    } while (got < 0 && errno == EINTR);
    return got > 0 ? static_cast<size_t>(got) : 0;
  }
  bool read(uint64_t address, void* to, size_t bytes) const { return read_some(address, to, bytes) == bytes; }

  // Also into code that the program itself can't write to.
  bool write(uint64_t address, const void* from, size_t bytes) const {
    ssize_t put = -1;
    do {
      put = pwrite(file_.get(), from, bytes, static_cast<off_t>(address));
    } while (put < 0 && errno == EINTR);
    return put == static_cast<ssize_t>(bytes);
  }

 private:
  base::UniqueFd file_;
};

}  // namespace heaptap::inject
