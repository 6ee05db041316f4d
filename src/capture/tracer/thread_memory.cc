#include "capture/tracer/thread_memory.h"

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "capture/process/remote_memory.h"
#include "common/base/pages.h"
#include "common/base/sizes.h"

namespace heaptap::tracer {
namespace {

using Copy = decltype(&process_vm_readv);

// 0, or errno.
int copy(Copy function, pid_t thread, void* here, uint64_t there, size_t bytes) {
  if (!process::can_name(there)) return EPERM;
  const iovec local{here, bytes};
  const iovec remote = process::remote_part(there, bytes);
  const ssize_t copied = function(thread, &local, 1, &remote, 1, 0);
  if (copied < 0) return errno;
  return static_cast<size_t>(copied) == bytes ? 0 : EFAULT;
}

}  // namespace

// A part within one page is copied completely or not at all (process_vm_readv(2)).
size_t ThreadMemory::read_some(pid_t thread, const process::TracedMemory& memory, uint64_t address, void* to,
                               size_t bytes) {
  constexpr size_t kMaxParts = 32;
  std::array<iovec, kMaxParts> parts{};
  bytes = memory.bytes_there(address, bytes, process::Access::kRead);
  if (!process::can_name(address + bytes)) return memory.read_some(address, to, bytes);
  const uint64_t page_bytes = base::page_bytes();
  size_t done = 0;
  while (done < bytes) {
    size_t count = 0;
    size_t wanted = 0;
    for (; count < kMaxParts && done + wanted < bytes; ++count) {
      const uint64_t at = address + done + wanted;
      const size_t size = base::at_most(bytes - done - wanted, page_bytes - at % page_bytes);
      parts[count] = process::remote_part(at, size);
      wanted += size;
    }
    const iovec local{static_cast<uint8_t*>(to) + done, wanted};
    const ssize_t got = process_vm_readv(thread, &local, 1, parts.data(), count, 0);
    // After a change of the program's user only the opened file works.
    if (got < 0 && errno != EFAULT) return done + memory.read_some(address + done, local.iov_base, bytes - done);
    if (got > 0) done += static_cast<size_t>(got);
    if (got < 0 || static_cast<size_t>(got) < wanted) break;
  }
  return done;
}

bool ThreadMemory::read(uint64_t address, void* to, size_t bytes) {
  if (!memory_.comes(address, bytes, process::Access::kRead)) return false;
  const int error = copy(process_vm_readv, thread_, to, address, bytes);
  if (error == 0) return true;
  if (error != EFAULT) return memory_.read(address, to, bytes);
  return stack_grows(address) && copy(process_vm_readv, thread_, to, address, bytes) == 0;
}

bool ThreadMemory::write(uint64_t address, const void* from, size_t bytes) {
  if (!memory_.comes(address, bytes, process::Access::kWrite)) return false;
  void* const here = const_cast<void*>(from);
  const int error = copy(process_vm_writev, thread_, here, address, bytes);
  if (error == 0) return true;
  // A program that has changed its user can't be accessed this way, but through the file opened before.
  if (error != EFAULT) return memory_.write(address, from, bytes);
  return stack_grows(address) && copy(process_vm_writev, thread_, here, address, bytes) == 0;
}

// The program's own access would have grown the stack. An access through the file does so too, but these calls don't
// (Linux mm/memory.c: __access_remote_vm; mm/gup.c).
bool ThreadMemory::stack_grows(uint64_t address) {
  uint8_t byte = 0;
  return memory_.read(address, &byte, sizeof(byte));
}

}  // namespace heaptap::tracer
