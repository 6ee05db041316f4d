#include "blocking_calls.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <vector>

namespace heaptap::test {

std::ostream& operator<<(std::ostream& out, const Outcome& outcome) {
  return out << outcome.value << " (" << (outcome.value < 0 ? strerror(outcome.error) : "no error") << ")";
}

Stage::Stage() {
  EXPECT_EQ(::pipe(pipe), 0);
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  void* memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  shared = static_cast<int*>(memory);
  char name[] = "/tmp/heaptap_blocking_XXXXXX";
  path = mkdtemp(name);
}

Stage::~Stage() {
  for (const int file : {pipe[0], pipe[1], pair[0], pair[1]}) close(file);
  munmap(shared, 4096);
  EXPECT_EQ(system(("rm -r " + path).c_str()), 0);
}

namespace {

timespec time_limit{0, 60'000'000};
int time_limit_ms = 60;

void write_byte(Stage& stage) { EXPECT_EQ(write(stage.pipe[1], "x", 1), 1); }
void send_byte(Stage& stage) { EXPECT_EQ(write(stage.pair[1], "x", 1), 1); }
void on_signal(int) {}

int epoll_of(int file) {
  const int epoll = epoll_create1(0);
  epoll_event event{};
  event.events = EPOLLIN;
  epoll_ctl(epoll, EPOLL_CTL_ADD, file, &event);
  return epoll;
}

void limit_wait(int socket, int option) {
  const timeval limit{time_limit_ms / 1000, time_limit_ms % 1000 * 1000L};
  setsockopt(socket, SOL_SOCKET, option, &limit, sizeof(limit));
}

int listening_at(const std::string& path) {
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  path.copy(name.sun_path, sizeof(name.sun_path) - 1);
  const bool bound = bind(listener, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) == 0;
  return bound && listen(listener, 0) == 0 ? listener : -1;
}

int connect_to(const std::string& path, int client) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  path.copy(name.sun_path, sizeof(name.sun_path) - 1);
  return connect(client, reinterpret_cast<const sockaddr*>(&name), sizeof(name));
}

sigset_t blocked(int signal) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  return set;
}

void fill(int file) {
  const std::vector<char> bytes(65536);
  fcntl(file, F_SETFL, O_NONBLOCK);
  while (write(file, bytes.data(), bytes.size()) > 0) continue;
  while (write(file, bytes.data(), 1) > 0) continue;
  fcntl(file, F_SETFL, 0);
}

void drain(int file) {
  std::vector<char> bytes(65536);
  EXPECT_GT(read(file, bytes.data(), bytes.size()), 0);
}

long fork_one_that_waits() {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  return child;
}

const BlockingCall kDescriptors[] = {
    {"epoll_wait",
     SYS_epoll_wait,
     [](Stage& s) {
       epoll_event event;
       return long{epoll_wait(epoll_of(s.pipe[0]), &event, 1, -1)};
     },
     write_byte,
     {1, 0}},
    {"epoll_wait with timeout",
     SYS_epoll_wait,
     [](Stage& s) {
       epoll_event event;
       return long{epoll_wait(epoll_of(s.pipe[0]), &event, 1, time_limit_ms)};
     },
     nullptr,
     {0, 0}},
    {"epoll_pwait",
     SYS_epoll_pwait,
     [](Stage& s) {
       epoll_event event;
       sigset_t none;
       sigemptyset(&none);
       return long{epoll_pwait(epoll_of(s.pipe[0]), &event, 1, -1, &none)};
     },
     write_byte,
     {1, 0}},
    {"epoll_pwait2 with timeout",
     SYS_epoll_pwait2,
     [](Stage& s) {
       epoll_event event;
       return syscall(SYS_epoll_pwait2, epoll_of(s.pipe[0]), &event, 1, &time_limit, nullptr, 0);
     },
     nullptr,
     {0, 0}},
    {"poll",
     SYS_poll,
     [](Stage& s) {
       pollfd entry{s.pipe[0], POLLIN, 0};
       return syscall(SYS_poll, &entry, 1, -1);
     },
     write_byte,
     {1, 0}},
    {"poll with timeout",
     SYS_poll,
     [](Stage& s) {
       pollfd entry{s.pipe[0], POLLIN, 0};
       return syscall(SYS_poll, &entry, 1, time_limit_ms);
     },
     nullptr,
     {0, 0}},
    {"ppoll with timeout",
     SYS_ppoll,
     [](Stage& s) {
       pollfd entry{s.pipe[0], POLLIN, 0};
       return long{ppoll(&entry, 1, &time_limit, nullptr)};
     },
     nullptr,
     {0, 0}},
    {"ppoll with a timeout in read-only memory",
     SYS_ppoll,
     [](Stage& s) {
       pollfd entry{s.pipe[0], POLLIN, 0};
       return syscall(SYS_ppoll, &entry, 1, &time_limit, nullptr, 8);
     },
     nullptr,
     {0, 0}},
    {"select",
     SYS_select,
     [](Stage& s) {
       fd_set files;
       FD_ZERO(&files);
       FD_SET(s.pipe[0], &files);
       return syscall(SYS_select, s.pipe[0] + 1, &files, nullptr, nullptr, nullptr);
     },
     write_byte,
     {1, 0}},
    {"pselect with timeout",
     SYS_pselect6,
     [](Stage&) {
       timespec limit = time_limit;
       return syscall(SYS_pselect6, 0, nullptr, nullptr, nullptr, &limit, nullptr);
     },
     nullptr,
     {0, 0}},
    {"read of a pipe",
     SYS_read,
     [](Stage& s) {
       char byte;
       return long{read(s.pipe[0], &byte, 1)};
     },
     write_byte,
     {1, 0}},
    {"write to a full pipe",
     SYS_write,
     [](Stage& s) {
       fill(s.pipe[1]);
       return long{write(s.pipe[1], "x", 1)};
     },
     [](Stage& s) { drain(s.pipe[0]); },
     {1, 0}},
    {"read of an eventfd",
     SYS_read,
     [](Stage& s) {
       *s.shared = eventfd(0, 0);
       uint64_t count;
       if (fork() == 0) {
         while (s.shared[1] == 0) usleep(100);
         eventfd_write(*s.shared, 1);
         _exit(0);
       }
       return long{read(*s.shared, &count, sizeof(count))};
     },
     [](Stage& s) { *const_cast<volatile int*>(&s.shared[1]) = 1; },
     {8, 0}},
    {"read of a timerfd",
     SYS_read,
     [](Stage&) {
       const int timer = timerfd_create(CLOCK_MONOTONIC, 0);
       const itimerspec limit{{}, time_limit};
       timerfd_settime(timer, 0, &limit, nullptr);
       uint64_t count;
       return long{read(timer, &count, sizeof(count))};
     },
     nullptr,
     {8, 0}},
    {"read of inotify",
     SYS_read,
     [](Stage& s) {
       const int watch = inotify_init1(0);
       inotify_add_watch(watch, s.path.c_str(), IN_CREATE);
       char event[512];
       return long{read(watch, event, sizeof(event))};
     },
     [](Stage& s) { close(open((s.path + "/new").c_str(), O_CREAT | O_WRONLY, 0600)); },
     {32, 0}},
    {"read of a signalfd",
     SYS_read,
     [](Stage&) {
       const sigset_t set = blocked(SIGUSR1);
       signalfd_siginfo event;
       return long{read(signalfd(-1, &set, 0), &event, sizeof(event))};
     },
     [](Stage& s) { kill(s.child, SIGUSR1); },
     {sizeof(signalfd_siginfo), 0}},
    {"open of a named pipe",
     SYS_openat,
     [](Stage& s) {
       mkfifo((s.path + "/fifo").c_str(), 0600);
       return open((s.path + "/fifo").c_str(), O_RDONLY) >= 0 ? 0L : -1L;
     },
     [](Stage& s) { close(open((s.path + "/fifo").c_str(), O_WRONLY)); },
     {0, 0}},
};

const BlockingCall kSockets[] = {
    {"recv",
     SYS_recvfrom,
     [](Stage& s) {
       char byte;
       return long{recv(s.pair[0], &byte, 1, 0)};
     },
     send_byte,
     {1, 0}},
    {"recv with a limit, data in time",
     SYS_recvfrom,
     [](Stage& s) {
       const timeval limit{60, 0};
       setsockopt(s.pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
       char byte;
       return long{recv(s.pair[0], &byte, 1, 0)};
     },
     send_byte,
     {1, 0}},
    {"recv with a limit",
     SYS_recvfrom,
     [](Stage& s) {
       limit_wait(s.pair[0], SO_RCVTIMEO);
       char byte;
       return long{recv(s.pair[0], &byte, 1, 0)};
     },
     nullptr,
     {-1, EAGAIN}},
    {"recvmsg with a limit",
     SYS_recvmsg,
     [](Stage& s) {
       limit_wait(s.pair[0], SO_RCVTIMEO);
       msghdr message{};
       return long{recvmsg(s.pair[0], &message, 0)};
     },
     nullptr,
     {-1, EAGAIN}},
    {"send with a limit",
     SYS_sendto,
     [](Stage& s) {
       limit_wait(s.pair[0], SO_SNDTIMEO);
       fill(s.pair[0]);
       return long{send(s.pair[0], "x", 1, 0)};
     },
     nullptr,
     {-1, EAGAIN}},
    {"accept",
     SYS_accept,
     [](Stage& s) { return accept(listening_at(s.path + "/socket"), nullptr, nullptr) >= 0 ? 0L : -1L; },
     [](Stage& s) {
       const int client = socket(AF_UNIX, SOCK_STREAM, 0);
       EXPECT_EQ(connect_to(s.path + "/socket", client), 0);
       close(client);
     },
     {0, 0}},
    {"accept with a limit",
     SYS_accept,
     [](Stage&) {
       const int listener = socket(AF_INET, SOCK_STREAM, 0);
       limit_wait(listener, SO_RCVTIMEO);
       listen(listener, 1);
       return long{accept(listener, nullptr, nullptr)};
     },
     nullptr,
     {-1, EAGAIN}},
    {"connect",
     SYS_connect,
     [](Stage& s) {
       const int listener = listening_at(s.path + "/socket");
       connect_to(s.path + "/socket", socket(AF_UNIX, SOCK_STREAM, 0));
       if (fork() == 0) {
         while (*const_cast<volatile int*>(s.shared) == 0) usleep(100);
         accept(listener, nullptr, nullptr);
         pause();
       }
       return long{connect_to(s.path + "/socket", socket(AF_UNIX, SOCK_STREAM, 0))};
     },
     [](Stage& s) { *const_cast<volatile int*>(s.shared) = 1; },
     {0, 0}},
};

const BlockingCall kOthers[] = {
    {"nanosleep", SYS_clock_nanosleep, [](Stage&) { return long{nanosleep(&time_limit, nullptr)}; }, nullptr, {0, 0}},
    {"clock_nanosleep until",
     SYS_clock_nanosleep,
     [](Stage&) {
       timespec end;
       clock_gettime(CLOCK_MONOTONIC, &end);
       end.tv_sec += 1 + time_limit.tv_sec;
       return long{clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, nullptr)};
     },
     nullptr,
     {0, 0}},
    {"futex",
     SYS_futex,
     [](Stage& s) { return syscall(SYS_futex, s.shared, FUTEX_WAIT, 0, nullptr, nullptr, 0); },
     [](Stage& s) { EXPECT_EQ(syscall(SYS_futex, s.shared, FUTEX_WAKE, 1, nullptr, nullptr, 0), 1); },
     {0, 0}},
    {"futex with timeout",
     SYS_futex,
     [](Stage& s) { return syscall(SYS_futex, s.shared, FUTEX_WAIT, 0, &time_limit, nullptr, 0); },
     nullptr,
     {-1, ETIMEDOUT}},
    {"wait4",
     SYS_wait4,
     [](Stage& s) {
       const long child = fork_one_that_waits();
       *s.shared = static_cast<int>(child);
       return waitpid(static_cast<pid_t>(child), nullptr, 0) - child;
     },
     [](Stage& s) { kill(*s.shared, SIGKILL); },
     {0, 0}},
    {"waitid",
     SYS_waitid,
     [](Stage& s) {
       *s.shared = static_cast<int>(fork_one_that_waits());
       return long{waitid(P_ALL, 0, nullptr, WEXITED)};
     },
     [](Stage& s) { kill(*s.shared, SIGKILL); },
     {0, 0}},
    {"semop",
     SYS_semop,
     [](Stage& s) {
       const int set = semget(IPC_PRIVATE, 1, 0600);
       *s.shared = set;
       sembuf take{0, -1, 0};
       return syscall(SYS_semop, set, &take, 1);
     },
     [](Stage& s) {
       sembuf give{0, 1, 0};
       EXPECT_EQ(semop(*s.shared, &give, 1), 0);
       semctl(*s.shared, 0, IPC_RMID);
     },
     {0, 0}},
    {"semtimedop",
     SYS_semtimedop,
     [](Stage&) {
       const int set = semget(IPC_PRIVATE, 1, 0600);
       sembuf take{0, -1, 0};
       const long result = syscall(SYS_semtimedop, set, &take, 1, &time_limit);
       const int reason = errno;
       semctl(set, 0, IPC_RMID);
       errno = reason;
       return result;
     },
     nullptr,
     {-1, EAGAIN}},
    {"msgrcv",
     SYS_msgrcv,
     [](Stage& s) {
       *s.shared = msgget(IPC_PRIVATE, 0600);
       long message[2];
       return long{msgrcv(*s.shared, message, sizeof(long), 0, 0)};
     },
     [](Stage& s) {
       const long message[2] = {1, 2};
       EXPECT_EQ(msgsnd(*s.shared, message, sizeof(long), 0), 0);
       wait_for_state(s.child, "Z");
       msgctl(*s.shared, IPC_RMID, nullptr);
     },
     {sizeof(long), 0}},
    {"mq_timedreceive",
     SYS_mq_timedreceive,
     [](Stage& s) {
       const std::string name = s.path.substr(4);
       mq_attr limits{};
       limits.mq_maxmsg = 1;
       limits.mq_msgsize = 8;
       const mqd_t queue = mq_open(name.c_str(), O_CREAT | O_RDWR, 0600, &limits);
       mq_unlink(name.c_str());
       timespec end;
       clock_gettime(CLOCK_REALTIME, &end);
       end.tv_sec += 1 + time_limit.tv_sec;
       char message[8];
       return long{mq_timedreceive(queue, message, 8, nullptr, &end)};
     },
     nullptr,
     {-1, ETIMEDOUT}},
    {"sigtimedwait",
     SYS_rt_sigtimedwait,
     [](Stage&) {
       const sigset_t set = blocked(SIGUSR1);
       return long{sigtimedwait(&set, nullptr, &time_limit)};
     },
     nullptr,
     {-1, EAGAIN}},
    {"sigwaitinfo",
     SYS_rt_sigtimedwait,
     [](Stage&) {
       const sigset_t set = blocked(SIGUSR1);
       return long{sigwaitinfo(&set, nullptr)};
     },
     [](Stage& s) { kill(s.child, SIGUSR1); },
     {SIGUSR1, 0}},
    {"pause",
     SYS_pause,
     [](Stage&) {
       signal(SIGUSR1, on_signal);
       return syscall(SYS_pause);
     },
     [](Stage& s) { kill(s.child, SIGUSR1); },
     {-1, EINTR}},
    {"sigsuspend",
     SYS_rt_sigsuspend,
     [](Stage&) {
       signal(SIGUSR1, on_signal);
       blocked(SIGUSR1);
       sigset_t none;
       sigemptyset(&none);
       return long{sigsuspend(&none)};
     },
     [](Stage& s) { kill(s.child, SIGUSR1); },
     {-1, EINTR}},
    {"epoll_wait, ended by a signal",
     SYS_epoll_wait,
     [](Stage& s) {
       signal(SIGUSR1, on_signal);
       epoll_event event;
       return long{epoll_wait(epoll_of(s.pipe[0]), &event, 1, -1)};
     },
     [](Stage& s) { kill(s.child, SIGUSR1); },
     {-1, EINTR}},
    {"io_getevents",
     SYS_io_getevents,
     [](Stage& s) {
       aio_context_t context = 0;
       if (syscall(SYS_io_setup, 1, &context) != 0) return -2L;
       iocb request{};
       request.aio_lio_opcode = IOCB_CMD_POLL;
       request.aio_fildes = static_cast<uint32_t>(s.pipe[0]);
       request.aio_buf = POLLIN;
       iocb* requests[] = {&request};
       if (syscall(SYS_io_submit, context, 1, requests) != 1) return -3L;
       io_event event;
       return syscall(SYS_io_getevents, context, 1, 1, &event, nullptr);
     },
     write_byte,
     {1, 0}},
    {"flock",
     SYS_flock,
     [](Stage& s) {
       const std::string path = s.path + "/lock";
       const int held = open(path.c_str(), O_CREAT | O_RDWR, 0600);
       flock(held, LOCK_EX);
       *s.shared = static_cast<int>(fork_one_that_waits());
       close(held);
       const int own = open(path.c_str(), O_RDWR);
       return long{flock(own, LOCK_EX)};
     },
     [](Stage& s) { kill(*s.shared, SIGKILL); },
     {0, 0}},
    {"fcntl",
     SYS_fcntl,
     [](Stage& s) {
       const int file = open((s.path + "/lock").c_str(), O_CREAT | O_RDWR, 0600);
       struct flock whole{};
       whole.l_type = F_WRLCK;
       int ready[2];
       if (pipe(ready) != 0) return -2L;
       const pid_t holder = fork();
       if (holder == 0) {
         fcntl(file, F_SETLKW, &whole);
         close(ready[1]);
         pause();
         _exit(0);
       }
       *s.shared = holder;
       close(ready[1]);
       char none;
       if (read(ready[0], &none, 1) < 0) return -3L;
       return long{fcntl(file, F_SETLKW, &whole)};
     },
     [](Stage& s) { kill(*s.shared, SIGKILL); },
     {0, 0}},
};

}  // namespace

std::span<const BlockingCall> calls_for_descriptors() { return kDescriptors; }
std::span<const BlockingCall> calls_of_sockets() { return kSockets; }
std::span<const BlockingCall> other_calls() { return kOthers; }

void set_time_limit(int milliseconds) {
  time_limit_ms = milliseconds;
  time_limit = {milliseconds / 1000, long{milliseconds % 1000} * 1'000'000};
}

WaitingProcess::WaitingProcess(const BlockingCall& blocking) : blocking_(blocking) {
  child_ = std::make_unique<ChildProcess>([&](int out) {
    setpgid(0, 0);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    errno = 0;
    const long value = blocking_.call(stage_);
    const Outcome outcome{value, value < 0 ? errno : 0};
    [[maybe_unused]] const ssize_t sent = write(out, &outcome, sizeof(outcome));
  });
  stage_.child = child_->id();
}

WaitingProcess::~WaitingProcess() { kill(-id(), SIGKILL); }

Outcome WaitingProcess::end() {
  if (blocking_.wake && wait_until_blocked()) blocking_.wake(stage_);
  Outcome outcome{-99, 0};
  EXPECT_TRUE(child_->receive(outcome)) << blocking_.name;
  return outcome;
}

}  // namespace heaptap::test
