// A process that is confined does what it is for, and is ended by whatever else it tries.
#include "common/channel/confinement.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/sched.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "child_process.h"
#include "common/base/unique_fd.h"

namespace heaptap::channel {
namespace {

constexpr uint8_t kConfined = 'c';
constexpr uint8_t kReturned = 'r';
constexpr std::string_view kOverlooked = "what another process has in its memory";

struct Pair {
  base::UniqueFd here;
  base::UniqueFd there;
};

Pair make_pair_of_sockets() {
  std::array<int, 2> ends{};
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  return {base::UniqueFd(ends[0]), base::UniqueFd(ends[1])};
}

// What it says over the pair: that it is confined, and then whatever `body` leaves to be said.
std::unique_ptr<test::ChildProcess> start_confined(const Pair& pair, const std::function<void(int)>& body) {
  const int there = pair.there.get();
  const int here = pair.here.get();
  return std::make_unique<test::ChildProcess>([&](int) {
    const bool is_confined = confine_to({there, here}).has_value();
    if (!is_confined || write(there, &kConfined, 1) != 1) _exit(1);
    body(there);
  });
}

uint8_t next_byte(const Pair& pair) {
  uint8_t byte = 0;
  pollfd wait{pair.here.get(), POLLIN, 0};
  constexpr int kHangsMs = 10'000;
  return poll(&wait, 1, kHangsMs) > 0 && read(pair.here.get(), &byte, 1) == 1 ? byte : 0;
}

struct Forbidden {
  std::string name;
  void (*attempt)();
};

class Confined : public testing::TestWithParam<Forbidden> {};

TEST_P(Confined, IsEndedWhereItTries) {
  if (test::kChildIsSanitized) GTEST_SKIP() << "the runtimes of sanitizers make calls of their own: there is no filter";
  const Pair pair = make_pair_of_sockets();
  const auto child = start_confined(pair, [](int to_test) {
    GetParam().attempt();
    (void)!write(to_test, &kReturned, 1);
  });
  const int status = child->wait();
  EXPECT_EQ(next_byte(pair), kConfined);
  ASSERT_TRUE(WIFSIGNALED(status)) << "status " << status << ": the call was made, or refused";
  EXPECT_EQ(WTERMSIG(status), SIGSYS);
}

INSTANTIATE_TEST_SUITE_P(
    Calls, Confined,
    testing::Values(
        Forbidden{"Open", [] { (void)syscall(SYS_openat, AT_FDCWD, "/etc/passwd", O_RDONLY, 0); }},
        Forbidden{"Make", [] { (void)syscall(SYS_mkdirat, AT_FDCWD, "/tmp/heaptap-confined", 0700); }},
        Forbidden{"Remove", [] { (void)syscall(SYS_unlinkat, AT_FDCWD, "/tmp/heaptap-confined", 0); }},
        Forbidden{"MemoryFile", [] { (void)syscall(SYS_memfd_create, "code", 0); }},
        Forbidden{"Exec",
                  [] {
                    std::array<char*, 1> none{};
                    (void)syscall(SYS_execve, "/bin/true", none.data(), none.data());
                  }},
        Forbidden{"Socket", [] { (void)syscall(SYS_socket, AF_INET, SOCK_STREAM, 0); }},
        Forbidden{"SocketOfRoutes", [] { (void)syscall(SYS_socket, AF_NETLINK, SOCK_RAW, 0); }},
        Forbidden{"Accept", [] { (void)syscall(SYS_accept4, 0, nullptr, nullptr, 0); }},
        Forbidden{"Connect", [] { (void)syscall(SYS_connect, 0, nullptr, 0); }},
        Forbidden{"Duplicate", [] { (void)syscall(SYS_dup, 0); }},
        Forbidden{"Control", [] { (void)syscall(SYS_ioctl, 0, 0, 0); }},
        Forbidden{"Trace", [] { (void)syscall(SYS_ptrace, PTRACE_SEIZE, getppid(), 0, 0); }},
        Forbidden{"Kill", [] { (void)syscall(SYS_kill, getppid(), 0); }},
        Forbidden{"KillAll", [] { (void)syscall(SYS_kill, -1, 0); }},
        Forbidden{"KillThread", [] { (void)syscall(SYS_tgkill, getppid(), getppid(), 0); }},
        Forbidden{"ReadAnother",
                  [] {
                    // It is at the same place in the process that made this one.
                    std::array<char, kOverlooked.size()> copy{};
                    const iovec to{copy.data(), copy.size()};
                    const iovec from{const_cast<char*>(kOverlooked.data()), kOverlooked.size()};
                    (void)syscall(SYS_process_vm_readv, getppid(), &to, 1, &from, 1, 0);
                  }},
        Forbidden{"WriteAnother", [] { (void)syscall(SYS_process_vm_writev, getppid(), nullptr, 0, nullptr, 0, 0); }},
        Forbidden{"Clone", [] { (void)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); }},
        Forbidden{"CloneByArguments",
                  [] {
                    clone_args arguments{};
                    arguments.exit_signal = SIGCHLD;
                    (void)syscall(SYS_clone3, &arguments, sizeof(arguments));
                  }},
        Forbidden{"MapCode",
                  [] {
                    constexpr size_t kBytes = 4096;
                    (void)syscall(SYS_mmap, nullptr, kBytes, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                  }},
        Forbidden{"MakeCode", [] { (void)syscall(SYS_mprotect, 0, 4096, PROT_READ | PROT_EXEC); }},
        Forbidden{"BecomeAnother", [] { (void)syscall(SYS_setresuid, 0, 0, 0); }},
        Forbidden{"LeaveNamespaces", [] { (void)syscall(SYS_unshare, CLONE_NEWUSER); }},
        Forbidden{"Mount", [] { (void)syscall(SYS_mount, "none", "/", "tmpfs", 0, nullptr); }},
        Forbidden{"ChangeRoot", [] { (void)syscall(SYS_chroot, "/"); }},
        Forbidden{"GetKeys", [] { (void)syscall(SYS_keyctl, 0, 0, 0, 0, 0); }},
        Forbidden{"BeDumpable", [] { (void)syscall(SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0); }},
#ifdef __x86_64__
        Forbidden{"NumberOfAnotherAbi", [] { (void)syscall(0x40000000 | SYS_openat, AT_FDCWD, "/etc/passwd", 0, 0); }},
#endif
        Forbidden{"NoSuchCall", [] { (void)syscall(100'000); }}),
    [](const auto& call) { return call.param.name; });

TEST(Confinement, LeavesWhatAFrontDoes) {
  const Pair pair = make_pair_of_sockets();
  const auto child = start_confined(pair, [](int to_test) {
    constexpr size_t kManyBytes = size_t{4} << 20;
    std::vector<uint8_t> many(kManyBytes, kReturned);  // from the kernel, and back to it
    many.resize(1);
    many.shrink_to_fit();
    timespec now{};
    const bool has_time = clock_gettime(CLOCK_MONOTONIC, &now) == 0;
    pollfd wait{to_test, POLLIN, 0};
    const bool is_woken = poll(&wait, 1, -1) == 1;
    std::array<uint8_t, 16> heard{};
    iovec part{heard.data(), heard.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    const ssize_t bytes = recvmsg(to_test, &message, 0);
    part.iov_len = static_cast<size_t>(std::max<ssize_t>(bytes, 0));
    const bool is_sent = bytes > 0 && sendmsg(to_test, &message, MSG_NOSIGNAL) == bytes;
    _exit(has_time && is_woken && is_sent && shutdown(to_test, SHUT_WR) == 0 ? 0 : 1);
  });
  ASSERT_EQ(next_byte(pair), kConfined);
  constexpr std::string_view kSaid = "a greeting";
  ASSERT_EQ(write(pair.here.get(), kSaid.data(), kSaid.size()), static_cast<ssize_t>(kSaid.size()));
  std::string heard;
  while (heard.size() < kSaid.size()) {
    const uint8_t byte = next_byte(pair);
    if (byte == 0) break;
    heard += static_cast<char>(byte);
  }
  EXPECT_EQ(heard, kSaid);
  EXPECT_EQ(child->wait(), 0);
}

// Whatever else the process had.
TEST(Confinement, LeavesNoOtherDescriptor) {
  const Pair pair = make_pair_of_sockets();
  const Pair other = make_pair_of_sockets();
  const int lost = other.there.get();
  const auto child = start_confined(pair, [lost](int) {
    constexpr uint8_t kByte = 'x';
    _exit(write(lost, &kByte, 1) < 0 && errno == EBADF ? 0 : 1);
  });
  EXPECT_EQ(next_byte(pair), kConfined);
  EXPECT_EQ(child->wait(), 0);
}

}  // namespace
}  // namespace heaptap::channel
