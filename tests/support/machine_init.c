// First process of an emulated machine: loads the drivers in /modules, configures the network, and executes what it is asked to over
// TCP, a connection a command (tests/support/machine.py has the other end).
//
// It greets with a byte. A command: its length in 4 bytes, then texts that each end with a zero byte: working directory, which is made
// if it isn't there; number of arguments; arguments; environment. Then frames in both directions: kind, length in 4 bytes, bytes. The
// first one has the command's process number; an input of no bytes ends the input; the last one has the command's status (wait) and
// the names of the working directory's files. All numbers are in this CPU's order, little-endian.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <net/route.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kPort = 7000, kMaxWords = 1024, kMaxCommandBytes = 1 << 20, kPieceBytes = 65536 };
enum FrameKind { kProcess = 'p', kInput = 'i', kOutput = 'o', kErrors = 'e', kStatus = 's' };

static void complain(const char* what) { fprintf(stderr, "machine: %s: %s\n", what, strerror(errno)); }

static void mount_all(void) {
  static const char* const kMounts[][2] = {
      {"proc", "/proc"}, {"sysfs", "/sys"}, {"devtmpfs", "/dev"}, {"tmpfs", "/dev/shm"}};
  for (size_t i = 0; i < sizeof(kMounts) / sizeof(*kMounts); ++i) {
    mkdir(kMounts[i][1], 0755);
    if (mount(kMounts[i][0], kMounts[i][1], kMounts[i][0], 0, NULL) != 0) complain(kMounts[i][1]);
  }
  mkdir("/tmp", 01777);
}

static void load_drivers(void) {
  struct dirent** names = NULL;
  const int count = scandir("/modules", &names, NULL, alphasort);
  for (int i = 0; i < count; ++i) {
    char path[512];
    snprintf(path, sizeof(path), "/modules/%s", names[i]->d_name);
    const int file = names[i]->d_name[0] == '.' ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (file >= 0 && syscall(SYS_finit_module, file, "", 0) != 0) complain(path);
    if (file >= 0) close(file);
  }
}

static void bring_up(int socket_fd, const char* name, const char* address) {
  struct ifreq request = {0};
  struct sockaddr_in* const in = (struct sockaddr_in*)&request.ifr_addr;
  snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
  in->sin_family = AF_INET;
  in->sin_addr.s_addr = inet_addr(address);
  if (ioctl(socket_fd, SIOCSIFADDR, &request) != 0) complain(name);
  if (ioctl(socket_fd, SIOCGIFFLAGS, &request) != 0) complain(name);
  request.ifr_flags |= IFF_UP | IFF_RUNNING;
  if (ioctl(socket_fd, SIOCSIFFLAGS, &request) != 0) complain(name);
}

// QEMU's user network: this machine is 10.0.2.15, the one outside 10.0.2.2.
static void configure_network(void) {
  const int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  bring_up(any, "lo", "127.0.0.1");
  bring_up(any, "eth0", "10.0.2.15");
  close(any);
}

static int read_all(int from, void* to, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t got = read(from, (char*)to + done, bytes - done);
    if (got <= 0) return 0;
    done += (size_t)got;
  }
  return 1;
}

static void write_all(int to, const void* from, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t put = write(to, (const char*)from + done, bytes - done);
    if (put <= 0) return;
    done += (size_t)put;
  }
}

static void send_frame(int host, char kind, const void* bytes, uint32_t count) {
  char head[5] = {kind};
  memcpy(head + 1, &count, sizeof(count));
  write_all(host, head, sizeof(head));
  write_all(host, bytes, count);
}

// What the host has sent. False: it has left.
static int take_input(int host, int* input) {
  static char piece[kPieceBytes];
  char head[5];
  uint32_t count;
  if (!read_all(host, head, sizeof(head))) return 0;
  memcpy(&count, head + 1, sizeof(count));
  if (count > sizeof(piece) || !read_all(host, piece, count)) return 0;
  if (*input >= 0 && count > 0) write_all(*input, piece, count);
  if (*input >= 0 && count == 0) {
    close(*input);
    *input = -1;
  }
  return 1;
}

// False: it has ended.
static int pass_output(int from, char kind, int host) {
  static char piece[kPieceBytes];
  const ssize_t got = read(from, piece, sizeof(piece));
  if (got > 0) send_frame(host, kind, piece, (uint32_t)got);
  return got > 0;
}

// Until both outputs are closed by all that have them. The command is killed when the host leaves.
static void pass_all(int host, pid_t command, int input, int output, int errors) {
  struct pollfd waits[3] = {{host, POLLIN, 0}, {output, POLLIN, 0}, {errors, POLLIN, 0}};
  while (waits[1].fd >= 0 || waits[2].fd >= 0) {
    if (poll(waits, 3, -1) < 0) continue;
    if (waits[0].revents != 0 && !take_input(host, &input)) {
      kill(-command, SIGKILL);
      waits[0].fd = -1;
    }
    if (waits[1].revents != 0 && !pass_output(output, kOutput, host)) waits[1].fd = -1;
    if (waits[2].revents != 0 && !pass_output(errors, kErrors, host)) waits[2].fd = -1;
  }
}

static _Noreturn void execute(char** words, const int* pipes) {
  char* const directory = words[0];
  const int arguments = atoi(words[1]);
  char* vector[kMaxWords + 1] = {0};
  setsid();
  signal(SIGPIPE, SIG_DFL);
  for (int i = 0; i < arguments; ++i) vector[i] = words[2 + i];
  dup2(pipes[0], 0);
  dup2(pipes[3], 1);
  dup2(pipes[5], 2);
  if (chdir(directory) == 0) execve(vector[0], vector, words + 2 + arguments);
  complain(vector[0]);
  _exit(127);
}

static void send_end(int host, pid_t command, const char* directory) {
  static char end[kPieceBytes];
  int status = 0;
  while (waitpid(command, &status, 0) < 0 && errno == EINTR) {
  }
  memcpy(end, &status, sizeof(status));
  size_t bytes = sizeof(status);
  DIR* const files = opendir(directory);
  for (const struct dirent* file = NULL; files != NULL && (file = readdir(files)) != NULL;) {
    const size_t length = strlen(file->d_name) + 1;
    if (bytes + length > sizeof(end)) break;
    memcpy(end + bytes, file->d_name, length);
    bytes += length;
  }
  send_frame(host, kStatus, end, (uint32_t)bytes);
}

static void serve_command(int host) {
  uint32_t length = 0;
  static char text[kMaxCommandBytes];
  char* words[kMaxWords + 1] = {0};
  write_all(host, "+", 1);
  if (!read_all(host, &length, sizeof(length)) || length == 0 || length >= sizeof(text) ||
      !read_all(host, text, length))
    return;
  int count = 0;
  for (char* at = text; at < text + length && count < kMaxWords; at += strlen(at) + 1) words[count++] = at;
  if (count < 3 || atoi(words[1]) > count - 2) return;
  mkdir(words[0], 0755);
  int pipes[6];
  for (int i = 0; i < 6; i += 2) {
    if (pipe2(pipes + i, O_CLOEXEC) != 0) return complain("pipe");
  }
  const pid_t command = fork();
  if (command == 0) execute(words, pipes);
  close(pipes[0]);
  close(pipes[3]);
  close(pipes[5]);
  send_frame(host, kProcess, &command, sizeof(command));
  pass_all(host, command, pipes[1], pipes[2], pipes[4]);
  send_end(host, command, words[0]);
}

static int listen_for_host(void) {
  const struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(kPort)};
  const int one = 1;
  const int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
  if (bind(listening, (const struct sockaddr*)&address, sizeof(address)) != 0 || listen(listening, 64) != 0)
    complain("listen");
  return listening;
}

static void end_of_children(int number) {
  (void)number;
  const int kept = errno;
  while (waitpid(-1, NULL, WNOHANG) > 0) {
  }
  errno = kept;
}

int main(void) {
  mount_all();
  load_drivers();
  configure_network();
  signal(SIGPIPE, SIG_IGN);
  const struct sigaction action = {.sa_handler = end_of_children};
  sigaction(SIGCHLD, &action, NULL);
  const int listening = listen_for_host();
  printf("machine: listening\n");
  fflush(stdout);
  for (;;) {
    const int host = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
    if (host < 0) continue;
    if (fork() == 0) {
      signal(SIGCHLD, SIG_DFL);
      serve_command(host);
      _exit(0);
    }
    close(host);
  }
}
