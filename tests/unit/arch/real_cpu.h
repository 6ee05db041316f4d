// The CPU that the test runs on executes one instruction: in a child of this process, with any registers, in 64-bit or
// 32-bit mode. Code and data lie in memory that is shared with the child, at addresses that both modes reach.
#pragma once
#include <elf.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

#include "common/arch/cpu.h"

namespace heaptap::tests {

class RealCpu {
 public:
  static constexpr uint64_t kCode = 0x10000000;
  static constexpr size_t kCodeBytes = 4096;
  static constexpr uint64_t kData = 0x20000000;
  static constexpr size_t kDataBytes = 16384;

  explicit RealCpu(bool is_64) {
    map(kCode, kCodeBytes);
    map(kData, kDataBytes);
    child_ = fork();
    if (child_ == 0) {
      ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
      raise(SIGSTOP);
      _exit(0);
    }
    int status = 0;
    waitpid(child_, &status, 0);
    if (!is_64) enter_32_bit_mode();
  }
  ~RealCpu() {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    munmap(reinterpret_cast<void*>(kCode), kCodeBytes);
    munmap(reinterpret_cast<void*>(kData), kDataBytes);
  }
  RealCpu(const RealCpu&) = delete;
  RealCpu& operator=(const RealCpu&) = delete;

  static std::span<uint8_t> data() { return {reinterpret_cast<uint8_t*>(kData), kDataBytes}; }

  arch::RegisterImage registers() const {
    arch::RegisterImage image;
    iovec place{image.bytes, sizeof(image.bytes)};
    if (ptrace(PTRACE_GETREGSET, child_, reinterpret_cast<void*>(NT_PRSTATUS), &place) == 0) image.size = place.iov_len;
    return image;
  }

  // One instruction at kCode, or all until something stops it. The signal that does: SIGTRAP where all went well.
  int step(std::span<const uint8_t> code, arch::RegisterImage& image) const {
    return start(code, image, PTRACE_SINGLESTEP) ? wait(image) : -1;
  }
  int run(std::span<const uint8_t> code, arch::RegisterImage& image) const {
    return start(code, image, PTRACE_CONT) ? wait(image) : -1;
  }
  bool start(std::span<const uint8_t> code, const arch::RegisterImage& image, __ptrace_request how) const {
    std::memcpy(reinterpret_cast<void*>(kCode), code.data(), code.size());
    return go_on(image, how);
  }
  bool go_on(arch::RegisterImage image, __ptrace_request how) const {
    iovec place{image.bytes, image.size};
    return ptrace(PTRACE_SETREGSET, child_, reinterpret_cast<void*>(NT_PRSTATUS), &place) == 0 &&
           ptrace(how, child_, nullptr, nullptr) == 0;
  }
  int wait(arch::RegisterImage& image) const {
    int status = 0;
    waitpid(child_, &status, 0);
    image = registers();
    return WIFSTOPPED(status) ? WSTOPSIG(status) : -1;
  }

  pid_t child() const { return child_; }

 private:
  static void map(uint64_t address, size_t bytes) {
    const void* place = mmap(reinterpret_cast<void*>(address), bytes, PROT_READ | PROT_WRITE | PROT_EXEC,
                             MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (place == MAP_FAILED) std::abort();
  }

  void enter_32_bit_mode() const {
#ifdef __x86_64__
    user_regs_struct all{};
    ptrace(PTRACE_GETREGS, child_, nullptr, &all);
    all.cs = 0x23;
    all.ss = all.ds = all.es = 0x2b;
    all.orig_rax = ~0ULL;
    ptrace(PTRACE_SETREGS, child_, nullptr, &all);
#endif
  }

  pid_t child_ = -1;
};

}  // namespace heaptap::tests
