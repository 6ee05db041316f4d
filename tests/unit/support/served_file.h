// A file that another process serves (FUSE), which can fall silent.
#pragma once
#include <fcntl.h>
#include <linux/fuse.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace heaptap::test {

class ServedFile {
 public:
  // The file "it" in this directory. Without FUSE, or the right to mount, it isn't there.
  ServedFile(std::string directory, std::string content)
      : directory_(std::move(directory)), content_(std::move(content)) {
    const int line = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    if (line < 0) return;
    const std::string options = "fd=" + std::to_string(line) + ",rootmode=40000,user_id=" + std::to_string(getuid()) +
                                ",group_id=" + std::to_string(getgid());
    is_mounted_ = mount("served", directory_.c_str(), "fuse", MS_NOSUID | MS_NODEV, options.c_str()) == 0;
    server_ = is_mounted_ ? fork() : 0;
    if (is_mounted_ && server_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      serve(line);
      _exit(0);
    }
    close(line);
    if (is_mounted_) start_cleaner();
  }
  ~ServedFile() {
    if (!is_mounted_) return;
    close(is_used_);
    waitpid(cleaner_, nullptr, 0);
    waitpid(server_, nullptr, 0);
  }
  ServedFile(const ServedFile&) = delete;
  ServedFile& operator=(const ServedFile&) = delete;

  [[nodiscard]] bool is_there() const { return is_mounted_; }
  [[nodiscard]] std::string path() const { return directory_ + "/" + kName; }
  void fall_silent() const {
    kill(server_, SIGSTOP);
    waitpid(server_, nullptr, WUNTRACED);
  }

 private:
  static constexpr const char* kName = "it";
  static constexpr uint64_t kNode = 2;

  // A process that unmounts the file system once this one has ended in any way, so that a killed test leaves none behind.
  void start_cleaner() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) abort();
    cleaner_ = fork();
    if (cleaner_ == 0) {
      setsid();  // isn't killed with the test's group
      close(ends[1]);
      char byte = 0;
      while (read(ends[0], &byte, 1) < 0 && errno == EINTR) continue;
      kill(server_, SIGKILL);
      umount2(directory_.c_str(), MNT_DETACH);
      _exit(0);
    }
    close(ends[0]);
    is_used_ = ends[1];
  }

  [[nodiscard]] fuse_attr attributes_of(uint64_t node) const {
    fuse_attr attributes{};
    attributes.ino = node;
    attributes.nlink = 1;
    attributes.blksize = 4096;
    attributes.mode = node == kNode ? S_IFREG | 0755u : S_IFDIR | 0755u;
    attributes.size = node == kNode ? content_.size() : 0;
    return attributes;
  }

  static void answer(int line, const fuse_in_header& question, int error, const void* body, size_t bytes) {
    fuse_out_header head{};
    head.len = static_cast<uint32_t>(sizeof(head) + bytes);
    head.error = -error;
    head.unique = question.unique;
    const std::array<iovec, 2> parts{{{&head, sizeof(head)}, {const_cast<void*>(body), bytes}}};
    if (writev(line, parts.data(), static_cast<int>(parts.size())) < 0) return;  // who asked may have gone
  }

  template <typename Body>
  static void answer(int line, const fuse_in_header& question, const Body& body) {
    answer(line, question, 0, &body, sizeof(body));
  }

  void answer_any(int line, const fuse_in_header& question, const char* body) const {
    switch (question.opcode) {
      case FUSE_INIT: {
        fuse_init_out init{};
        init.major = FUSE_KERNEL_VERSION;
        init.minor = 31;
        init.max_write = 4096;
        return answer(line, question, init);
      }
      case FUSE_LOOKUP: {
        if (std::string_view(body) != kName) return answer(line, question, ENOENT, nullptr, 0);
        fuse_entry_out entry{};
        entry.nodeid = kNode;
        entry.entry_valid = entry.attr_valid = 1000;
        entry.attr = attributes_of(kNode);
        return answer(line, question, entry);
      }
      case FUSE_GETATTR: {
        fuse_attr_out attributes{};
        attributes.attr_valid = 1000;
        attributes.attr = attributes_of(question.nodeid);
        return answer(line, question, attributes);
      }
      case FUSE_OPEN: {
        fuse_open_out opened{};
        opened.open_flags = FOPEN_DIRECT_IO;  // nothing is kept by the kernel
        return answer(line, question, opened);
      }
      case FUSE_READ: {
        fuse_read_in wanted{};
        std::memcpy(&wanted, body, sizeof(wanted));
        const size_t begin = std::min<size_t>(wanted.offset, content_.size());
        return answer(line, question, 0, content_.data() + begin,
                      std::min<size_t>(wanted.size, content_.size() - begin));
      }
      case FUSE_FLUSH:
      case FUSE_RELEASE:
        return answer(line, question, 0, nullptr, 0);
      case FUSE_FORGET:
      case FUSE_BATCH_FORGET:
      case FUSE_INTERRUPT:
        return;
      default:
        return answer(line, question, ENOSYS, nullptr, 0);
    }
  }

  void serve(int line) const {
    alignas(fuse_in_header) std::array<char, size_t{FUSE_MIN_READ_BUFFER} * 2> bytes{};
    while (true) {
      const ssize_t got = read(line, bytes.data(), bytes.size());
      if (got < 0 && errno != EINTR && errno != ENOENT) return;
      if (got <= 0) continue;
      fuse_in_header question{};
      std::memcpy(&question, bytes.data(), sizeof(question));
      answer_any(line, question, bytes.data() + sizeof(question));
    }
  }

  const std::string directory_;
  const std::string content_;
  bool is_mounted_ = false;
  pid_t server_ = 0;
  pid_t cleaner_ = 0;
  int is_used_ = -1;  // open while this object exists
};

}  // namespace heaptap::test
