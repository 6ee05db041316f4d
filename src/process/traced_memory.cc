#include "process/traced_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace heaptap::process {

TracedMemory::TracedMemory(pid_t thread)
    : file_(open(("/proc/" + std::to_string(thread) + "/mem").c_str(), O_RDWR | O_CLOEXEC)) {}

bool TracedMemory::read(uint64_t address, void* to, size_t bytes) { return read_some(address, to, bytes) == bytes; }

bool TracedMemory::write(uint64_t address, const void* from, size_t bytes) {
  size_t done = 0;
  while (done < bytes) {
    const ssize_t put =
        pwrite(file_.get(), static_cast<const char*>(from) + done, bytes - done, static_cast<off_t>(address + done));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    done += static_cast<size_t>(put);
  }
  return true;
}

size_t TracedMemory::read_some(uint64_t address, void* to, size_t bytes) const {
  size_t done = 0;
  while (done < bytes) {
    const ssize_t got =
        pread(file_.get(), static_cast<char*>(to) + done, bytes - done, static_cast<off_t>(address + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

}  // namespace heaptap::process
