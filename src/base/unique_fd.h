// The owner of a file descriptor. Nothing else outside the agent closes one (tools/layers.txt).
#pragma once
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

namespace heaptap::base {

// Closes what it owns, and keeps errno while it does. Any negative number stands for none.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int descriptor) : descriptor_(descriptor) {}
  ~UniqueFd() { reset(); }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  UniqueFd(UniqueFd&& other) noexcept : descriptor_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    reset(other.release());  // of itself: it owns nothing just then, and gets back what it had
    return *this;
  }

  explicit operator bool() const { return descriptor_ >= 0; }
  [[nodiscard]] int get() const { return descriptor_; }
  // The caller owns it from here on.
  int release() { return std::exchange(descriptor_, -1); }
  void reset(int descriptor = -1) {
    const int old = std::exchange(descriptor_, descriptor);
    if (old < 0) return;
    const int reason = errno;
    ::close(old);  // not again after EINTR: Linux has freed the number then
    errno = reason;
  }
  // Another one of the same open file, not inherited through exec; none where there is none to be had.
  [[nodiscard]] UniqueFd duplicate() const {
    return descriptor_ < 0 ? UniqueFd() : UniqueFd(fcntl(descriptor_, F_DUPFD_CLOEXEC, 0));
  }

 private:
  int descriptor_ = -1;
};

// A name under which its file can be opened again while it is open.
inline std::string path_of(const UniqueFd& file) { return "/proc/self/fd/" + std::to_string(file.get()); }

}  // namespace heaptap::base
