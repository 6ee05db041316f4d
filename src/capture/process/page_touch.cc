// Two methods, by how the kernel waits (mm/memory.c __access_remote_vm, mm/process_vm_access.c):
// - /proc/PID/mem refuses a page under userfaultfd at once. For a page from a file system it waits with the process's memory map locked,
//   uninterruptibly: a thread of the program that supplies the page would wait for the lock when it maps anything.
// - process_vm_readv waits for either without that lock, until the reader is killed.
#include "capture/process/page_touch.h"

#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace heaptap::process {
namespace {

bool is_page_read(const PageTouch::Page& page) {
  uint8_t byte = 0;
  ssize_t got = -1;
  if (page.thread != 0) {
    const iovec here{&byte, sizeof(byte)};
    const iovec there{reinterpret_cast<void*>(page.address), sizeof(byte)};
    got = process_vm_readv(page.thread, &here, 1, &there, 1, 0);
  }
  while (got < 0) {
    got = pread(page.memory->get(), &byte, sizeof(byte), static_cast<off_t>(page.address));
    if (got < 0 && errno != EINTR) break;
  }
  return got == sizeof(byte);
}

}  // namespace

PageTouch::Outcome PageTouch::touch(Page page) {
  switch (calls_.run([page = std::move(page)] { return is_page_read(page); })) {
    case base::BoundedCalls::Outcome::kTrue:
      return Outcome::kThere;
    case base::BoundedCalls::Outcome::kFalse:
      return Outcome::kNone;
    case base::BoundedCalls::Outcome::kGivenUp:
      break;
  }
  return Outcome::kGivenUp;
}

}  // namespace heaptap::process
