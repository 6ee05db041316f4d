#include "capture/process/traced_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "capture/process/page_touch.h"
#include "common/base/process_file.h"
#include "common/base/sizes.h"

namespace heaptap::process {
namespace {

// One thread for all traced processes. Never destroyed: a destructor at thread exit would link glibc's loader and
// streams into the static program (docs/decisions/0083-no-streams-on-the-target.md).
PageTouch& page_touch() {
  static thread_local auto* const touch = new PageTouch;
  return *touch;
}

}  // namespace

TracedMemory::TracedMemory(pid_t thread)
    : file_(
          std::make_shared<const base::UniqueFd>(open(base::process_file(thread, "mem").c_str(), O_RDWR | O_CLOEXEC))),
      pages_(thread),
      userfaults_(thread) {}

size_t TracedMemory::bytes_there(uint64_t address, size_t bytes, Access access) const {
  const bool is_used = address / page_bytes_ == used_page_ && (address + bytes - 1) / page_bytes_ == used_page_;
  return is_used ? bytes : pages_.bytes_there(address, bytes, access);
}

bool TracedMemory::touch(uint64_t address, Access access) const {
  if (has_given_up_ || userfaults_.covers(address)) return false;
  const PageTouch::Outcome outcome =
      page_touch().touch({.memory = file_, .address = address, .thread = userfaults_.thread_for_file(address)});
  if (outcome == PageTouch::Outcome::kGivenUp) has_given_up_ = true;
  // Present, but possibly write-protected by an unknown userfaultfd.
  return outcome == PageTouch::Outcome::kThere &&
         (access == Access::kRead || pages_.bytes_there(address, 1, access) != 0);
}

bool TracedMemory::comes(uint64_t address, size_t bytes, Access access) const {
  size_t done = 0;
  while (done < bytes) {
    done += bytes_there(address + done, bytes - done, access);
    if (done >= bytes) break;
    const uint64_t at = address + done;
    if (!touch(at, access)) return false;
    done += base::at_most(bytes - done, page_bytes_ - at % page_bytes_);
  }
  return true;
}

bool TracedMemory::read(uint64_t address, void* to, size_t bytes) { return read_some(address, to, bytes) == bytes; }

bool TracedMemory::write(uint64_t address, const void* from, size_t bytes) {
  if (!comes(address, bytes, Access::kWrite)) return false;
  size_t done = 0;
  while (done < bytes) {
    const ssize_t put =
        pwrite(file_->get(), static_cast<const char*>(from) + done, bytes - done, static_cast<off_t>(address + done));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    done += static_cast<size_t>(put);
  }
  return true;
}

size_t TracedMemory::read_some(uint64_t address, void* to, size_t bytes) const {
  size_t done = 0;
  while (done < bytes) {
    const uint64_t at = address + done;
    size_t wanted = bytes_there(at, bytes - done, Access::kRead);
    if (wanted == 0) {
      if (!touch(at, Access::kRead)) break;
      wanted = base::at_most(bytes - done, page_bytes_ - at % page_bytes_);
    }
    const ssize_t got = pread(file_->get(), static_cast<char*>(to) + done, wanted, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

}  // namespace heaptap::process
