// Owner of a file descriptor. Outside the agent, the only code that closes one (tools/layers.txt).
#pragma once
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

namespace heaptap::base {

// Closes its descriptor and preserves errno. Any negative number stands for none.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int descriptor) : descriptor_(descriptor) {}
  ~UniqueFd() { reset(); }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  UniqueFd(UniqueFd&& other) noexcept : descriptor_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    reset(other.release());  // self-assignment: it is empty at that moment, and gets its own back
    return *this;
  }

  explicit operator bool() const { return descriptor_ >= 0; }
  [[nodiscard]] int get() const { return descriptor_; }
  // The caller becomes the owner.
  int release() { return std::exchange(descriptor_, -1); }
  void reset(int descriptor = -1) {
    const int old = std::exchange(descriptor_, descriptor);
    if (old < 0) return;
    const int reason = errno;
    ::close(old);  // not repeated after EINTR: Linux has released the number by then
    errno = reason;
  }
  // Duplicate of the descriptor, close-on-exec; empty on failure.
  [[nodiscard]] UniqueFd duplicate() const {
    return descriptor_ < 0 ? UniqueFd() : UniqueFd(fcntl(descriptor_, F_DUPFD_CLOEXEC, 0));
  }

 private:
  int descriptor_ = -1;
};

// Path that opens the same file again while it is open.
inline std::string path_of(const UniqueFd& file) { return "/proc/self/fd/" + std::to_string(file.get()); }

}  // namespace heaptap::base
