#include "common/base/random_bytes.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>

#include "common/base/unique_fd.h"

namespace heaptap::base {
namespace {

// take(bytes) gives some of them, as read() does.
template <typename Take>
bool fill_by(std::span<uint8_t> bytes, const Take& take) {
  while (!bytes.empty()) {
    const ssize_t got = take(bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(got));
  }
  return true;
}

}  // namespace

bool fill_random(std::span<uint8_t> bytes) {
  if (fill_by(bytes, [](std::span<uint8_t> left) { return getrandom(left.data(), left.size(), 0); })) return true;
  if (errno != ENOSYS) return false;
  const UniqueFd file(open("/dev/urandom", O_RDONLY | O_CLOEXEC));  // before Linux 3.17
  return file && fill_by(bytes, [&](std::span<uint8_t> left) { return ::read(file.get(), left.data(), left.size()); });
}

}  // namespace heaptap::base
