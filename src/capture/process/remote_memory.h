// Memory of another process, as process_vm_readv(2) and process_vm_writev(2) are told of it.
#pragma once
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace heaptap::process {

// A program of 32 bits can't name all memory of one of 64; /proc/PID/mem has all of it.
constexpr bool can_name(uint64_t address) { return std::in_range<uintptr_t>(address); }

// can_name(address) has to be true.
inline iovec remote_part(uint64_t address, size_t bytes) {
  return {.iov_base = reinterpret_cast<void*>(static_cast<uintptr_t>(address)), .iov_len = bytes};
}

}  // namespace heaptap::process
