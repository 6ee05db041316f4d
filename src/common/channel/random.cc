#include "common/channel/random.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>

#include "common/base/unique_fd.h"
#include "common/channel/failure.h"

namespace heaptap::channel {

base::Result<> fill_random(std::span<uint8_t> bytes) {
  // This many come in one piece (random(7): up to 256 bytes aren't interrupted).
  const auto is_whole = [&](ssize_t got) { return got == static_cast<ssize_t>(bytes.size()); };
  if (is_whole(getrandom(bytes.data(), bytes.size(), 0))) return {};
  if (errno == ENOSYS) {
    const base::UniqueFd file(open("/dev/urandom", O_RDONLY | O_CLOEXEC));  // before Linux 3.17
    if (file && is_whole(::read(file.get(), bytes.data(), bytes.size()))) return {};
  }
  return fail({"can't encrypt: the kernel gives no random numbers: ", base::reason_of(errno)});
}

}  // namespace heaptap::channel
