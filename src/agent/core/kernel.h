// System calls of the agent, by name. No libc, no errno: a negative result is -errno.
#pragma once
#include <asm/unistd.h>
#include <linux/futex.h>
#include <linux/mman.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/call_permission.h"
#include "common/arch/native.h"

namespace heaptap::agent {
// Reports the agent's own mappings to the collector (log_areas.cc).
void note_own_area(const void* start, size_t bytes);
void forget_own_area(const void* start);
}  // namespace heaptap::agent

namespace heaptap::agent::kernel {

inline constexpr long kForbidden = -1;      // EPERM
inline constexpr long kInterrupted = -4;    // EINTR
inline constexpr long kNoSuchProcess = -3;  // ESRCH
inline constexpr long kInvalid = -22;       // EINVAL
inline constexpr long kTimedOut = -110;     // ETIMEDOUT
inline constexpr long kReadWrite = 1 | 2;   // PROT_READ | PROT_WRITE

// A system call of the agent; not made where none is permitted.
inline long system_call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
  return may_call() ? arch::native::system_call(number, a, b, c, d, e, f) : kForbidden;
}

// A system call of the program, made through the agent.
inline long call_for_program(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
  return arch::native::system_call(number, a, b, c, d, e, f);
}

inline bool failed(long result) { return result < 0 && result > -4096; }

// Call only where system calls may be made.
inline int process_id() { return static_cast<int>(system_call(__NR_getpid)); }
inline int parent_process_id() { return static_cast<int>(system_call(__NR_getppid)); }
inline uint32_t thread_id() { return static_cast<uint32_t>(system_call(__NR_gettid)); }

// Zeroed private memory, or null.
inline void* map_memory(size_t bytes) {
  void* reserved = may_call() && !keeps_to_reserve() ? nullptr : take_reserve(bytes);
  if (reserved != nullptr || !may_call()) return reserved;
  const long result = system_call(arch::native::kMapCall, 0, static_cast<long>(bytes), kReadWrite,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (failed(result)) return nullptr;
  note_own_area(reinterpret_cast<void*>(result), bytes);
  return reinterpret_cast<void*>(result);
}

inline constexpr long kStackLimit = 3;         // RLIMIT_STACK
inline constexpr long kAddressSpaceLimit = 9;  // RLIMIT_AS

// The limit set by setrlimit; 0 where it can't be read.
inline uint64_t soft_limit(long resource) {
  struct {
    uint64_t soft;
    uint64_t hard;
  } limit{};
  return system_call(__NR_prlimit64, 0, resource, 0, reinterpret_cast<long>(&limit)) == 0 ? limit.soft : 0;
}

// Whether the address space is limited. True also where that can't be read.
inline bool is_address_space_limited() { return soft_limit(kAddressSpaceLimit) != UINT64_MAX; }

inline void* map_shared(int descriptor, size_t bytes) {
  const long result =
      system_call(arch::native::kMapCall, 0, static_cast<long>(bytes), kReadWrite, 0x01 /* SHARED */, descriptor, 0);
  return failed(result) ? nullptr : reinterpret_cast<void*>(result);
}

inline void unmap(void* start, size_t bytes) {
  if (!may_call()) return;
  forget_own_area(start);
  system_call(__NR_munmap, reinterpret_cast<long>(start), static_cast<long>(bytes));
}

inline bool advise(void* start, size_t bytes, int advice) {
  return !failed(system_call(__NR_madvise, reinterpret_cast<long>(start), static_cast<long>(bytes), advice));
}

inline int open_to_read(const char* path) {
  return static_cast<int>(
      system_call(__NR_openat, -100 /* AT_FDCWD */, reinterpret_cast<long>(path), 0x80000 /* CLOEXEC */));
}

inline long read(int descriptor, void* buffer, size_t bytes) {
  long result;
  do {
    result = system_call(__NR_read, descriptor, reinterpret_cast<long>(buffer), static_cast<long>(bytes));
  } while (result == kInterrupted);
  return result;
}

// From that place of the file on. On CPUs of 32 bits the place is in a pair of registers, in the order of the bytes, whose first one is
// the fifth argument's: a pair begins where it may.
inline long read_at(int descriptor, void* buffer, size_t bytes, uint64_t offset) {
  const auto to = reinterpret_cast<long>(buffer);
  const auto count = static_cast<long>(bytes);
  if constexpr (sizeof(long) == sizeof(uint64_t)) {
    return system_call(__NR_pread64, descriptor, to, count, static_cast<long>(offset));
  }
  const auto low = static_cast<long>(offset & UINT32_MAX);
  const auto high = static_cast<long>(offset >> 32);
  constexpr bool kHighIsFirst = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
  return system_call(__NR_pread64, descriptor, to, count, 0, kHighIsFirst ? high : low, kHighIsFirst ? low : high);
}

inline void close(int descriptor) { system_call(__NR_close, descriptor); }

inline long read_link(const char* path, char* buffer, size_t bytes) {
  return system_call(__NR_readlinkat, -100, reinterpret_cast<long>(path), reinterpret_cast<long>(buffer),
                     static_cast<long>(bytes));
}

inline bool thread_lives(int process, uint32_t thread) {
  return system_call(__NR_tgkill, process, static_cast<long>(thread), 0) != kNoSuchProcess;
}

// Waits until *word isn't `value`, for a wake-up, or until the timeout. The word is shared with another process.
inline long futex_wait(const void* word, uint32_t value, uint32_t milliseconds) {
  struct {
    long seconds;
    long nanoseconds;
  } const limit{static_cast<long>(milliseconds / 1000), static_cast<long>(milliseconds % 1000) * 1000000};
  return system_call(__NR_futex, reinterpret_cast<long>(word), FUTEX_WAIT, static_cast<long>(value),
                     reinterpret_cast<long>(&limit));
}

// Wakes all waiters.
inline void futex_wake(const void* word) {
  system_call(__NR_futex, reinterpret_cast<long>(word), FUTEX_WAKE, 0x7fffffff);
}

// Whether 8 bytes at this address are readable, tested by the kernel: an invalid request that is refused with EINVAL
// only after its argument was read. Changes nothing. Any other result, such as a filter's, proves nothing.
inline bool is_readable(uintptr_t address) {
  return system_call(__NR_rt_sigprocmask, -1, static_cast<long>(address), 0, 8) == kInvalid;
}

// The word at this address, copied by the kernel. False: it can't be read, or the kernel doesn't do this.
inline bool copy_word(uintptr_t address, uintptr_t& word) {
  struct {
    uintptr_t start;
    size_t bytes;
  } const to{reinterpret_cast<uintptr_t>(&word), sizeof(word)}, from{address, sizeof(word)};
  return system_call(__NR_process_vm_readv, process_id(), reinterpret_cast<long>(&to), 1, reinterpret_cast<long>(&from),
                     1) == sizeof(word);
}

}  // namespace heaptap::agent::kernel
