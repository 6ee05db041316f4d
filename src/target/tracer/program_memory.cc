#include "target/tracer/program_memory.h"

#include <sys/uio.h>

#include <cerrno>

namespace heaptap::tracer {
namespace {

using Copy = decltype(&process_vm_readv);

// 0, or why not.
int copy(Copy function, pid_t thread, void* here, uint64_t there, size_t bytes) {
  const iovec local{here, bytes};
  const iovec remote{reinterpret_cast<void*>(there), bytes};
  const ssize_t copied = function(thread, &local, 1, &remote, 1, 0);
  if (copied < 0) return errno;
  return static_cast<size_t>(copied) == bytes ? 0 : EFAULT;
}

}  // namespace

bool ProgramMemory::read(uint64_t address, void* to, size_t bytes) {
  const int error = copy(process_vm_readv, thread_, to, address, bytes);
  if (error == 0) return true;
  if (error != EFAULT) return memory_.read(address, to, bytes);
  return stack_grows(address) && copy(process_vm_readv, thread_, to, address, bytes) == 0;
}

bool ProgramMemory::write(uint64_t address, const void* from, size_t bytes) {
  void* const here = const_cast<void*>(from);
  const int error = copy(process_vm_writev, thread_, here, address, bytes);
  if (error == 0) return true;
  // A program that has changed its user is closed to this way, but not to the file that was opened before.
  if (error != EFAULT) return memory_.write(address, from, bytes);
  return stack_grows(address) && copy(process_vm_writev, thread_, here, address, bytes) == 0;
}

// The program's own access would have made the stack larger. A look through the file does so too, but these calls don't
// (Linux mm/memory.c: __access_remote_vm; mm/gup.c).
bool ProgramMemory::stack_grows(uint64_t address) {
  uint8_t byte = 0;
  return memory_.read(address, &byte, sizeof(byte));
}

}  // namespace heaptap::tracer
