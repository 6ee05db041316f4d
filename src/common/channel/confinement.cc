#include "common/channel/confinement.h"

#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/net.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "common/base/unique_fd.h"
#include "common/channel/failure.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HEAPTAP_SANITIZED 1  // their runtimes make system calls of their own
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define HEAPTAP_SANITIZED 1
#endif
#endif

namespace heaptap::channel {
namespace {

constexpr uid_t kNobody = 65534;

// The architecture of the filter's numbers; calls of another one (x32, 32 bits on 64) kill the process.
#if defined(__x86_64__)
constexpr uint32_t kAudited = AUDIT_ARCH_X86_64;
#elif defined(__i386__)
constexpr uint32_t kAudited = AUDIT_ARCH_I386;
#elif defined(__aarch64__)
constexpr uint32_t kAudited = AUDIT_ARCH_AARCH64;
#elif defined(__arm__)
constexpr uint32_t kAudited = AUDIT_ARCH_ARM;
#elif defined(__riscv) && __riscv_xlen == 64
constexpr uint32_t kAudited = AUDIT_ARCH_RISCV64;
#elif defined(__powerpc64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
constexpr uint32_t kAudited = AUDIT_ARCH_PPC64LE;
#elif defined(__powerpc__) && !defined(__powerpc64__)
constexpr uint32_t kAudited = AUDIT_ARCH_PPC;
#elif defined(__mips__) && !defined(__mips64) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
constexpr uint32_t kAudited = AUDIT_ARCH_MIPSEL;
#elif defined(__mips__) && !defined(__mips64)
constexpr uint32_t kAudited = AUDIT_ARCH_MIPS;
#else
constexpr uint32_t kAudited = 0;  // no filter
#endif

// Permitted: I/O on existing sockets, memory, time, exit.
constexpr auto kAllowed = std::to_array<long>({
    SYS_read,
    SYS_write,
    SYS_close,
    SYS_shutdown,
    SYS_exit,
    SYS_exit_group,
    SYS_brk,
    SYS_munmap,
    SYS_mremap,
    SYS_madvise,
    SYS_futex,
    SYS_rt_sigreturn,
    SYS_rt_sigprocmask,
    SYS_restart_syscall,
    SYS_sendto,
    SYS_recvfrom,
    SYS_sendmsg,
    SYS_recvmsg,
    SYS_ppoll,
    SYS_clock_gettime,
#ifdef SYS_poll
    SYS_poll,
#endif
#ifdef SYS_send
    SYS_send,
#endif
#ifdef SYS_recv
    SYS_recv,
#endif
#ifdef SYS_sigreturn
    SYS_sigreturn,
#endif
#ifdef SYS_ppoll_time64
    SYS_ppoll_time64,
#endif
#ifdef SYS_clock_gettime64
    SYS_clock_gettime64,
#endif
#ifdef SYS_futex_time64
    SYS_futex_time64,
#endif
});

constexpr uint32_t low_word_of(unsigned argument) {
  constexpr uint32_t kLow = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0 : 4;
  return static_cast<uint32_t>(offsetof(seccomp_data, args) + argument * sizeof(uint64_t) + kLow);
}

sock_filter load(uint32_t offset) { return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset); }
sock_filter answer(uint32_t action) { return BPF_STMT(BPF_RET | BPF_K, action); }
sock_filter skip_unless(uint32_t value) { return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1); }
sock_filter skip_next_if(uint32_t value) { return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0); }

[[maybe_unused]] std::vector<sock_filter> make_filter(uint32_t end) {  // not under sanitizers
  std::vector<sock_filter> filter{load(offsetof(seccomp_data, arch)), skip_next_if(kAudited), answer(end),
                                  load(offsetof(seccomp_data, nr))};
  for (const long number : kAllowed) {
    filter.push_back(skip_unless(static_cast<uint32_t>(number)));
    filter.push_back(answer(SECCOMP_RET_ALLOW));
  }
  // Mappings that aren't executable. These calls come last in the filter, so that the arguments are loaded once.
#if defined(SYS_mmap2)
  constexpr uint32_t kMap = SYS_mmap2;
#else
  constexpr uint32_t kMap = SYS_mmap;
#endif
  constexpr uint8_t kMapSteps = 4;
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kMap, 0, kMapSteps));
  filter.push_back(load(low_word_of(2)));
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 1, 0));
  filter.push_back(answer(SECCOMP_RET_ALLOW));
  filter.push_back(answer(end));
#ifdef SYS_socketcall  // all calls of sockets in one
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socketcall, 1, 0));
  filter.push_back(answer(end));
  filter.push_back(load(low_word_of(0)));
  for (const uint32_t call : {SYS_SEND, SYS_RECV, SYS_SENDTO, SYS_RECVFROM, SYS_SHUTDOWN, SYS_SENDMSG, SYS_RECVMSG}) {
    filter.push_back(skip_unless(call));
    filter.push_back(answer(SECCOMP_RET_ALLOW));
  }
#endif
  filter.push_back(answer(end));
  return filter;
}

// False, and errno: not supported, or not permitted.
bool filter_calls() {
#ifdef HEAPTAP_SANITIZED
  return true;
#else
  if (kAudited == 0) return false;
  for (const uint32_t end : {uint32_t{SECCOMP_RET_KILL_PROCESS}, uint32_t{SECCOMP_RET_KILL_THREAD}}) {
    std::vector<sock_filter> filter = make_filter(end);
    const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0) return true;
  }
  return false;
#endif
}

void close_all_but(const std::array<int, 2>& kept) {
  const unsigned first = static_cast<unsigned>(std::min(kept[0], kept[1]));
  const unsigned last = static_cast<unsigned>(std::max(kept[0], kept[1]));
  const auto close_between = [](unsigned from, unsigned to) {
    if (from > to) return;
#ifdef SYS_close_range
    if (syscall(SYS_close_range, from, to, 0) == 0) return;
#endif
    constexpr unsigned kMaxDescriptors = 65'536;
    for (unsigned each = from; each <= std::min(to, kMaxDescriptors); ++each) base::UniqueFd(static_cast<int>(each));
  };
  if (first > 0) close_between(0, first - 1);
  close_between(first + 1, last - 1);
  close_between(last + 1, ~0u);
}

// Whether it was root and isn't any more.
bool become_nobody() {
  if (geteuid() != 0) return false;
  (void)setgroups(0, nullptr);
  return setresgid(kNobody, kNobody, kNobody) == 0 && setresuid(kNobody, kNobody, kNobody) == 0 && geteuid() != 0;
}

void drop_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> none{};
  (void)syscall(SYS_capset, &header, none.data());
  (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
}

void limit(int resource, rlim_t most) {
  const rlimit limits{most, most};
  (void)setrlimit(static_cast<__rlimit_resource>(resource), &limits);
}

}  // namespace

base::Result<> confine_to(const std::array<int, 2>& descriptors) {
  const pid_t parent = getppid();
  close_all_but(descriptors);
  const bool is_nobody = become_nobody();
  drop_capabilities();
  (void)prctl(PR_SET_DUMPABLE, 0);
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
  limit(RLIMIT_FSIZE, 0);
  limit(RLIMIT_NPROC, 0);
  limit(RLIMIT_CORE, 0);
  constexpr rlim_t kPolled = 8;  // limit of poll()
  limit(RLIMIT_NOFILE, kPolled);
  const bool gains_nothing = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
  if (gains_nothing && filter_calls()) return {};
  const int error = errno;
  if (is_nobody) return {};
  return fail({"this kernel can't sandbox the process that reads from the network (", base::reason_of(error),
               "): use a UNIX socket, forwarded by ssh"});
}

}  // namespace heaptap::channel
